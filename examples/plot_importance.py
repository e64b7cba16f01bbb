"""Which features does the model use?

Permutation importance shuffles one feature at a time and measures how much the score on test rows
drops. It works with every model and every scaling, because it only predicts. In these data, only
the features 0 to 4 matter.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_friedman1
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedSVR

X, y = make_friedman1(4000, n_features=10, noise=0.5, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(StandardScaler(), BudgetedSVR(budget=80, C=10, random_state=0))
model.fit(X_train, y_train)
result = permutation_importance(model, X_test, y_test, n_repeats=10, random_state=0)

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.boxplot(result.importances.T, orientation="horizontal", tick_labels=range(10))
ax.set(xlabel="loss of R2 if the feature is shuffled", ylabel="feature")
ax.axvline(0, color="0.6", linestyle=":")
