"""Regression with 12 support vectors

`BudgetedSVR` fits a curve to noisy values. Errors up to `epsilon`, the width of the band, cost
nothing. The marks show where the support vectors are.
"""

import numpy as np
from matplotlib import pyplot as plt

from pocketsvm import BudgetedSVR

random = np.random.default_rng(0)
x = np.sort(random.uniform(-4, 4, 1500))
y = np.sin(2 * x) * np.exp(-(x**2) / 8) + random.normal(scale=0.15, size=len(x))
model = BudgetedSVR(budget=12, C=10, gamma=1.0, epsilon=0.1, random_state=0).fit(x[:, None], y)

line = np.linspace(-4, 4, 400)
curve = model.predict(line[:, None])
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(x, y, ".", color="0.75", markersize=4, label="rows")
ax.fill_between(line, curve - 0.1, curve + 0.1, color="C1", alpha=0.25, label="epsilon = 0.1")
ax.plot(line, curve, color="C1", label="prediction")
ax.plot(model.support_vectors_[:, 0], np.full(len(model.support_vectors_), -1.2), "k|", ms=14)
ax.legend()
print(f"R2 {model.score(x[:, None], y):.3f} with {len(model.support_vectors_)} support vectors")
