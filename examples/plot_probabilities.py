"""Probabilities of a model with the log loss

With `loss="log_loss"`, `BudgetedSVC` has probabilities. The reliability curve is close to the
diagonal: of the rows with a predicted probability of 80 %, about 80 % belong to the class. The
histogram counts the rows.
"""

from matplotlib import pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from pocketsvm import BudgetedSVC
from pocketsvm.metrics import expected_calibration_error

X, y = make_moons(12_000, noise=0.4, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = BudgetedSVC(budget=40, C=10.0, loss="log_loss", random_state=0).fit(X_train, y_train)
probability = model.predict_proba(X_test)
fig, (ax, counts) = plt.subplots(
    2, 1, figsize=(5.2, 6), layout="constrained", height_ratios=[3, 1], sharex=True
)
CalibrationDisplay.from_predictions(y_test, probability[:, 1], n_bins=10, name="log_loss", ax=ax)
counts.hist(probability[:, 1], bins=20, color="tab:blue")
counts.set(xlabel="predicted probability", ylabel="rows")
ax.set_xlabel("")
print(f"expected calibration error {expected_calibration_error(y_test, probability):.3f}")
