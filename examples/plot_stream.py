"""A stream whose classes change

`partial_fit` learns from one batch after the other, and the model never exceeds its budget. Each
batch is predicted before it is learned. After half of the stream, the two labels are exchanged. The
model recovers within a few batches, because the old vectors are merged with new ones.
"""

import numpy as np
from matplotlib import pyplot as plt

from pocketsvm import BudgetedSVC

random = np.random.default_rng(0)
model = BudgetedSVC(50, gamma=1.0, alpha=1e-4, random_state=0)
scores = []
for batch in range(60):
    X = random.normal(size=(500, 2))
    y = np.where((np.sin(3 * X[:, 0]) > X[:, 1]) == (batch < 30), "below", "above")
    if batch:
        scores.append(model.score(X, y))
    model.partial_fit(X, y, classes=["above", "below"])

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(range(1, 60), scores)
ax.axvline(30, color="0.6", linestyle=":")
ax.annotate("the labels are exchanged", (30, 0.5), (33, 0.5), va="center")
ax.set(xlabel="batch of 500 rows", ylabel="accuracy before it is learned", ylim=(0, 1.02))
