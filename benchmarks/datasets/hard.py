"""Generated tasks of the solver's benchmark: classes like letter's, chequerboards, hard cases."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pocketsvm.paper.datasets.files import TrainTest

from .tasks import BALANCED, PRECISION, R2, Task

TEST_ROWS = 20_000

# --- classes like letter's ------------------------------------------------------------------------

LETTER_ROWS, LETTER_TEST_ROWS, LETTER_FEATURES = 15_000, 5_000, 16
# By the number of classes: a distance of the clusters at which the exact SVM has about the accuracy
# and the number of vectors that it has on letter, then C and gamma times the number of features:
# the best of the grid that `tuned` prints.
GENERATED_CLASSES = {5: (2.0, 1.0, 4.0), 10: (2.5, 1.0, 4.0), 26: (3.2, 1.0, 4.0)}


def letter_like(n_classes: int) -> Task:
    """Return as many rows as letter has: each class has four clusters, no linear model suffices."""
    distance, C, gamma = GENERATED_CLASSES[n_classes]
    X, y = make_classification(
        LETTER_ROWS + LETTER_TEST_ROWS,
        LETTER_FEATURES,
        n_informative=12,
        n_redundant=4,
        n_classes=n_classes,
        n_clusters_per_class=4,
        class_sep=distance,
        flip_y=0,
        random_state=0,
    )
    rows = _split(_standard(X), y, LETTER_TEST_ROWS)
    return Task(f"generated, {n_classes} classes", rows, C, gamma / LETTER_FEATURES)


def _standard(X: NDArray[np.floating]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = StandardScaler().fit_transform(X).astype(np.float32)
    return scaled


def _split(X: NDArray[np.float32], y: NDArray[np.generic], n_test: int) -> TrainTest:
    return TrainTest(X[:-n_test], y[:-n_test], X[-n_test:], y[-n_test:])


# --- chequerboards --------------------------------------------------------------------------------


def chequerboard(n_rows: int, side: int = 8, flipped: float = 0.0) -> Task:
    """Return a board of cells of side 1; a share of the training labels is wrong."""
    random = np.random.default_rng(0)
    X, y = _board(n_rows, side, random)
    X_test, y_test = _board(TEST_ROWS, side, random)
    wrong = random.random(n_rows) < flipped
    label = f"chequerboard {side} x {side}, {n_rows:,} rows"
    if flipped:
        label += f", {flipped:.0%} flipped"
    return Task(label, TrainTest(X, np.where(wrong, 1 - y, y), X_test, y_test), 10.0, 2.0)


def _board(
    n_rows: int, side: int, random: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    X = random.random((n_rows, 2), dtype=np.float32) * np.float32(side)
    return X, X.astype(np.int64).sum(axis=1) % 2


# --- tasks that are hard in one respect each ------------------------------------------------------


def rare_class(n_rows: int) -> Task:
    """Return one positive row among 1,000, in four clusters."""
    X, y = make_classification(
        3 * n_rows,
        10,
        n_informative=6,
        n_clusters_per_class=4,
        weights=[0.999],
        class_sep=2.0,
        flip_y=0,
        random_state=0,
    )
    rows = _split(_standard(X), y, 2 * n_rows)
    return Task(f"1 positive in 1,000, {n_rows:,} rows", rows, 10.0, 0.1, measure=PRECISION)


def unequal_classes(n_rows: int) -> Task:
    """Return 26 classes, the largest 500 times as large as the smallest."""
    share = np.geomspace(1, 1 / 500, 26)
    X, y = make_classification(
        2 * n_rows,
        LETTER_FEATURES,
        n_informative=12,
        n_redundant=4,
        n_classes=26,
        n_clusters_per_class=2,
        weights=share / share.sum(),
        class_sep=2.5,
        flip_y=0,
        random_state=0,
    )
    # Stratified, because chance could leave the smallest classes with hardly any row.
    X, X_test, y, y_test = train_test_split(
        _standard(X), y, test_size=0.5, random_state=0, stratify=y
    )
    label = f"26 unequal classes, {n_rows:,} rows"
    rows = TrainTest(X, y, X_test, y_test)
    return Task(label, rows, 10.0, 1 / LETTER_FEATURES, measure=BALANCED)


def weighted_rows(n_rows: int) -> Task:
    """Return a board whose rows weigh 0.01 to 100; the lighter a row, the likelier it is wrong."""
    random = np.random.default_rng(0)
    X, y = _board(n_rows, 4, random)
    X_test, y_test = _board(TEST_ROWS, 4, random)
    exponent = random.uniform(-2, 2, n_rows)
    wrong = random.random(n_rows) < 0.4 * (2 - exponent) / 4
    rows = TrainTest(X, np.where(wrong, 1 - y, y), X_test, y_test)
    label = f"weights of 0.01 to 100, {n_rows:,} rows"
    return Task(label, rows, 1.0, 2.0, sample_weight=10**exponent)


def text_rows(n_rows: int, n_words: int = 5_000) -> Task:
    """Return TF-IDF rows of four subjects: words as in Zipf's law, some favoured by a subject."""
    random = np.random.default_rng(0)
    frequency = 1 / np.arange(10, n_words + 10)
    favour = random.lognormal(0, 0.7, (4, n_words))
    y = random.integers(4, size=2 * n_rows)
    lengths = random.geometric(1 / 40, 2 * n_rows) + 10
    parts = []
    for subject in range(4):
        chosen = np.flatnonzero(y == subject)
        share = frequency * favour[subject] / (frequency * favour[subject]).sum()
        words = random.choice(n_words, int(lengths[chosen].sum()), p=share)
        documents = np.repeat(chosen, lengths[chosen])
        parts.append((documents, words))
    documents, words = (np.concatenate(part) for part in zip(*parts, strict=True))
    counts = sparse.csr_array(
        (np.ones(len(words), np.float32), (documents, words)), shape=(2 * n_rows, n_words)
    )
    counts.sum_duplicates()  # scipy before 1.15 keeps them
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts).astype(np.float32)
    rows = TrainTest(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])
    return Task(f"TF-IDF rows, {n_rows:,} rows of {n_words:,} words", rows, 10.0, 1.0)


def heavy_tails(n_rows: int) -> Task:
    """Return a smooth function with noise of infinite variance; test rows have no noise."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows + TEST_ROWS, 8)).astype(np.float32)
    a, b, c, d = X[:, :4].T
    y = np.sin(2 * a) + b * c + 0.5 * d**2
    noise = 0.5 * random.standard_t(1.5, n_rows)
    rows = TrainTest(X[:n_rows], y[:n_rows] + noise, X[n_rows:], y[n_rows:])
    label = f"heavy-tailed targets, {n_rows:,} rows"
    return Task(label, rows, 1.0, 1 / 8, 0.1, R2)
