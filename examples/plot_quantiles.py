"""A fan of quantiles

`BudgetedSVR(loss="quantile")` predicts several quantiles at once. The bands hold 50 % and 90 % of
the targets, and they widen where the noise grows. Quantiles of a row never cross.
"""

import numpy as np
from matplotlib import pyplot as plt

from pocketsvm import BudgetedSVR

random = np.random.default_rng(0)
X = random.uniform(0, 1, size=(3000, 1))
y = np.sin(5 * X[:, 0]) + (0.05 + 0.5 * X[:, 0]) * random.normal(size=len(X))
quantiles = [0.05, 0.25, 0.5, 0.75, 0.95]
model = BudgetedSVR(budget=40, loss="quantile", quantile=quantiles, random_state=0).fit(X, y)
line = np.linspace(0, 1, 200)[:, None]
fan = model.predict(line)
fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.scatter(X, y, s=2, color="0.6")
for k, (alpha, share) in enumerate(((0.2, "90 %"), (0.4, "50 %"))):
    ax.fill_between(
        line[:, 0], fan[:, k], fan[:, -1 - k], color="tab:orange", alpha=alpha, label=share
    )
ax.plot(line, fan[:, 2], color="tab:red", label="median")
ax.set(xlabel="feature", ylabel="target")
ax.legend(loc="lower left")
covered = (y[:, None] <= model.predict(X)).mean(axis=0)
print("shares below the quantiles:", ", ".join(f"{share:.3f}" for share in covered))
