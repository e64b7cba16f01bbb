"""How many support vectors does a problem need?

`BudgetDisplay` draws the accuracy in cross-validation as a function of the budget. The dashed line
is the exact SVM. Take the smallest budget at which the curve is flat.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from pocketsvm import BudgetedSVC
from pocketsvm.plots import BudgetDisplay

X, y = load_digits(return_X_y=True)
X /= 16
BudgetDisplay.from_estimator(
    BudgetedSVC(C=10, max_iter=5, random_state=0),
    X,
    y,
    budgets=[20, 40, 80, 160],
    cv=3,
    reference=cross_val_score(SVC(C=10), X, y, cv=3).mean(),
    reference_name="exact SVM",
)
