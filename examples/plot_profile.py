"""What training did, and where its time went

`profile_` counts the steps, the rows inside the margin and the merges, and measures the time of
each part. `ProfileDisplay` draws it.
"""

from sklearn.datasets import make_classification

from pocketsvm import BudgetedSVC
from pocketsvm.plots import ProfileDisplay

X, y = make_classification(20_000, n_features=20, n_informative=10, flip_y=0.05, random_state=0)
model = BudgetedSVC(budget=100, random_state=0).fit(X, y)
print(f"{model.profile_.steps:,} steps, {model.profile_.merges:,} merges")
ProfileDisplay.from_estimator(model)
