"""From decision values to probabilities

Decision values order the rows, but they are no probabilities. `CalibratedClassifierCV` learns the
mapping by cross-validation. The points are close to the diagonal: of the rows with a predicted
probability of 80 %, about 80 % belong to the class.
"""

from matplotlib import pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split

from pocketsvm import BudgetedSVC

X, y = make_classification(
    20_000, n_features=10, n_informative=6, flip_y=0.1, class_sep=0.6, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
svm = BudgetedSVC(budget=60, max_iter=5, random_state=0)
fig, ax = plt.subplots(figsize=(5.2, 5), layout="constrained")
for method in ("sigmoid", "isotonic"):
    model = CalibratedClassifierCV(svm, method=method, cv=3).fit(X_train, y_train)
    CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=10, name=method, ax=ax)
    loss = brier_score_loss(y_test, model.predict_proba(X_test)[:, 1])
    print(f"{method}: Brier score {loss:.4f}")
