"""A rare class: class weights move the boundary

One row in twenty belongs to the rare class. Without weights, the model gives the region in which
the classes overlap to the common class. `class_weight="balanced"` gives both classes the same total
weight, and finds more of the rare class at the price of false alarms.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs
from sklearn.metrics import precision_score, recall_score

from pocketsvm import BudgetedSVC
from pocketsvm.plots import BoundaryDisplay

X, y = make_blobs([2850, 150], centers=[[0, 0], [2, 1]], cluster_std=[1.3, 0.8], random_state=0)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, weight in zip(axes, (None, "balanced"), strict=True):
    model = BudgetedSVC(budget=40, class_weight=weight, random_state=0).fit(X, y)
    predicted = model.predict(X)
    recall, precision = recall_score(y, predicted), precision_score(y, predicted)
    print(f"class_weight={weight}: recall {recall:.2f}, precision {precision:.2f}")
    display = BoundaryDisplay.from_estimator(model, X, y, ax=ax)
    display.legend_.remove()
    ax.set_title(f"class_weight={weight}")
