"""What has to be measured in a process of its own: another instruction set, the peak of memory.

Called by ``measure.in_child`` as ``child.py FUNCTION JSON-ARGUMENTS``; prints the result as JSON.
"""

import json
import sys

import datasets
import numpy as np
from measure import fastest, passes_only, peak_memory
from sklearn.metrics import accuracy_score

from pocketsvm import BudgetedSVC, _core, load_svmlight
from pocketsvm.experiments.paper.measure import one_thread, timed


def decision_rate(n_rows, n_features, budget, rounds):
    """Seconds a row of decision_function and multiplications plus additions a second of sgemm."""
    X, y = datasets.susy_like(n_rows, n_features)
    model = passes_only(budget, gamma=datasets.SUSY_GAMMA, max_iter=1).fit(X[:20_000], y[:20_000])
    assert len(model.support_vectors_) == budget
    sizes = (128, 192, 256, 384)  # all operands in the second-level cache, and nearly so
    squares = {size: np.random.default_rng(0).random((size, size), np.float32) for size in sizes}
    calls = {size: (lambda a=a: [a @ a for _ in range(20)]) for size, a in squares.items()}
    calls["decide"] = lambda: model.decision_function(X)
    with one_thread():
        runs = fastest(calls, rounds)
    return {
        "instruction_set": _core.instruction_set(),
        "seconds_a_row": runs["decide"].seconds / n_rows,
        "sgemm": max(20 * 2 * size**3 / runs[size].seconds for size in sizes),
    }


def training_memory(n_rows, n_features, budget):
    """Bytes that fit adds to the peak of the resident size; X and y lie there already."""
    X, y = datasets.susy_like(n_rows, n_features)
    model = passes_only(budget, gamma=datasets.SUSY_GAMMA, max_iter=1)
    # Threads, tables, modules: what is kept once is there before the measurement.
    passes_only(50, gamma=datasets.SUSY_GAMMA, max_iter=1).fit(X[:20_000], y[:20_000])
    before = peak_memory()
    model.fit(X, y)
    return {"bytes": peak_memory() - before, "vectors": len(model.support_vectors_)}


def text_to_model(path, n_features, n_test, budget, polish, n_jobs):
    """From LIBSVM text to a model in one pass: the clock of each step, accuracy, peak memory."""

    def read():
        X, y = load_svmlight(path, n_features, n_jobs=n_jobs)
        return X.toarray(), y

    reading = timed(read)
    X, y = reading.value
    make = BudgetedSVC if polish else passes_only
    model = make(
        budget, C=1.0, gamma=datasets.SUSY_GAMMA, max_iter=1, n_jobs=n_jobs, random_state=0
    )
    training = timed(lambda: model.fit(X, y))
    X_test, y_test = datasets.susy_like(n_test, n_features, seed=1)
    return {
        "rows": X.shape[0],
        "reading": reading.seconds,
        "training": training.seconds,
        "accuracy": accuracy_score(y_test, model.predict(X_test)),
        "peak_bytes": peak_memory(),
    }


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](**json.loads(sys.argv[2]))))
