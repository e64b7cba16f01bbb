"""What merged support vectors look like

The model of handwritten digits has 40 support vectors for all ten classes. A vector is a weighted
mean of the rows that were merged into it, or it was moved by the solver, and it is an image again.
The title is the class to which it adds most.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from pocketsvm import BudgetedSVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
model = BudgetedSVC(budget=40, C=10, random_state=0).fit(X_train, y_train)
print(f"accuracy {model.score(X_test, y_test):.3f} with {len(model.support_vectors_)} vectors")

classes = model.classes_[model.dual_coef_.argmax(axis=0)]
fig, axes = plt.subplots(4, 10, figsize=(8, 3.9), layout="constrained")
for ax, i in zip(axes.flat, classes.argsort(kind="stable"), strict=True):
    ax.imshow(model.support_vectors_[i].reshape(8, 8), cmap="gray_r")
    ax.set_title(classes[i], fontsize=9)
    ax.set_axis_off()
