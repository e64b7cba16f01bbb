"""The best C and gamma

`BudgetedSVCCV` searches C and gamma by cross-validation, on all cores. `TuningDisplay` draws the
scores. The frame marks the best pair. Good values form a ridge: a larger C allows a smaller gamma.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedSVCCV
from pocketsvm.plots import TuningDisplay

X, y = load_breast_cancer(return_X_y=True)
search = BudgetedSVCCV(budget=30, n_jobs=-1, random_state=0)
model = make_pipeline(StandardScaler(), search).fit(X, y)
print(search.best_params_, f"accuracy {search.best_score_:.3f}")
TuningDisplay.from_estimator(search)
