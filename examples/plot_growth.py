"""Training time grows linearly with the number of rows

The time of an exact SVM grows faster than the number of rows, and so does the size of its model.
With a budget, the time grows linearly and the size of the model is constant.
"""

from time import perf_counter

from matplotlib import pyplot as plt
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from pocketsvm import BudgetedSVC

X, y = make_classification(
    8000, n_features=10, n_informative=6, flip_y=0.1, class_sep=0.7, random_state=0
)
X = X.astype("float32")
sizes = [500, 1000, 2000, 4000, 8000]
models = {"pocketsvm, budget 100": BudgetedSVC(100, random_state=0), "exact SVM": SVC()}

models["pocketsvm, budget 100"].fit(X[:200], y[:200])  # builds the merge table, once per process

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for name, model in models.items():
    seconds, vectors = [], []
    for n_rows in sizes:
        start = perf_counter()
        model.fit(X[:n_rows], y[:n_rows])
        seconds.append(perf_counter() - start)
        vectors.append(len(model.support_vectors_))
    left.loglog(sizes, seconds, "o-", label=name)
    right.loglog(sizes, vectors, "o-", label=name)
left.set(xlabel="rows", ylabel="seconds", title="training")
right.set(xlabel="rows", ylabel="support vectors", title="model")
for ax in (left, right):
    ax.set_xticks(sizes, [f"{n_rows:,}" for n_rows in sizes])
    ax.minorticks_off()
left.legend()
