"""The decision boundary of 40 support vectors

The rows are two interleaved half circles with noise. An exact SVM keeps more than a thousand rows
as support vectors. Here, 40 vectors draw the same boundary. Most of them are merged from several
rows, so they are no training rows themselves.
"""

from sklearn.datasets import make_moons
from sklearn.svm import SVC

from pocketsvm import BudgetedSVC
from pocketsvm.plots import BoundaryDisplay

X, y = make_moons(4000, noise=0.25, random_state=0)
model = BudgetedSVC(budget=40, C=10, random_state=0).fit(X, y)
exact = SVC(C=10).fit(X, y)

print(f"pocketsvm: accuracy {model.score(X, y):.3f}, {len(model.support_vectors_)} vectors")
print(f"exact SVM: accuracy {exact.score(X, y):.3f}, {len(exact.support_vectors_)} vectors")
BoundaryDisplay.from_estimator(model, X, y)
