"""Novelty detection: where the normal rows are

The training rows lie on two noisy half circles, and none of them has a label. The one-class SVM
learns where they are. One row in twenty may lie outside of its boundary (`nu=0.05`). The exact
machine keeps more support vectors, and finds the same boundary.
"""

import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import OneClassSVM

from pocketsvm import BudgetedOneClassSVM
from pocketsvm.plots import BoundaryDisplay

X, _ = make_moons(4000, noise=0.1, random_state=0)
model = BudgetedOneClassSVM(budget=40, nu=0.05, gamma=5, random_state=0).fit(X)
exact = OneClassSVM(nu=0.05, gamma=5).fit(X)

new = np.random.default_rng(0).uniform([-2, -1.5], [3, 2], (4000, 2))
same = np.mean(model.predict(new) == exact.predict(new))
print(f"{np.mean(model.predict(X) == -1):.3f} of the training rows are outliers")
print(f"pocketsvm: {len(model.support_vectors_)} vectors")
print(f"exact SVM: {len(exact.support_vectors_)} vectors; both agree on {same:.1%} of new points")
BoundaryDisplay.from_estimator(model, X, margin=0.2)
