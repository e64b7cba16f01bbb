"""Labels: which classes there are, their weights, and the codes of labels."""

import numpy as np
import pytest
from models import small_svc
from numpy.testing import assert_array_equal

from pocketsvm.rows import labels


def test_labels_are_encoded_across_chunks():
    n = 2 * labels.LABELS_AT_ONCE + 17
    y = np.random.default_rng(0).integers(-3, 4, n) * 10
    classes = labels.find_classes(y)
    codes = labels.encode_labels(y, classes)
    assert codes.dtype == np.int8
    assert_array_equal(classes[codes], y)
    with pytest.raises(ValueError, match=r"y holds the label .*30.*not in classes"):
        labels.encode_labels(y, classes[:-1])


def test_many_classes_use_wider_codes():
    classes = np.arange(300)
    codes = labels.encode_labels(classes[::-1], classes)
    assert codes.dtype == np.int32
    assert_array_equal(codes, classes[::-1])
    X = np.random.default_rng(0).normal(size=(1200, 2)).astype(np.float32)
    clf = small_svc(budget=600, max_iter=1).fit(X, np.arange(1200) % 300)
    assert clf.decision_function(X).shape == (1200, 300)


def test_class_weights_of_texts_that_look_like_numbers():
    y = np.array(["01", "1", "2"])
    found = labels.class_weights({"01": 3.0, "2": 0.5}, y, y, None)
    assert_array_equal(found, [3.0, 1.0, 0.5])
    with pytest.raises(ValueError, match="are not in class_weight"):
        labels.class_weights({"01": 3.0, "03": 0.5}, y, y, None)


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, -7, 3, 5]),
        np.array([3, -7, 3, 5], dtype=np.int8),
        np.array([True, False, True]),
        np.array([0, 2**40]),
        np.array([1.0, 4.0, 1.0]),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        np.repeat([7, 1], labels.LABELS_AT_ONCE),
    ],
)
def test_classes_are_sorted_labels_of_the_same_type(y):
    found = labels.find_classes(y)
    assert_array_equal(found, np.unique(y), strict=True)


def test_targets_of_a_regression_are_no_classes():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        labels.find_classes(np.array([0.5, 1.7, 2.2]))


@pytest.mark.parametrize("texts", [("a", "a\0"), ("a\0", "a"), ("a", "a\0", "b")])
def test_labels_that_differ_by_a_trailing_zero_character_are_told_apart(texts):
    y = np.array([texts[k % len(texts)] for k in range(120)], dtype=object)
    X = np.array([[texts.index(label)] for label in y], dtype=float)
    clf = small_svc(budget=12).fit(X, y)
    assert clf.predict(X).tolist() == y.tolist()
    assert clf.score(X, y) == 1.0
