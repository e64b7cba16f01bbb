"""Checks of shapes and values: forged sections and arrays are refused."""

import numpy as np
import pytest
from model_files import entry, numbers, refused_after, value

from pocketsvm.model.check import _check_outputs, check_quantiles
from pocketsvm.model.container import Entry

VECTORS = "decision.vectors"
SHAPES = {
    "swapped dtype": (entry("decision.dual_coef", dtype="int64"), "int64 of shape .* but float64"),
    "half vectors": (entry(VECTORS, dtype="float16", shape=[12, 6]), "names for 6 features"),
    "turned": (entry(VECTORS, shape=[3, 12]), "feature names for 12 features"),
    "budget": (value("training", "budget", to=11), "with a budget of 11"),
    "budget text": (value("training", "budget", to="12"), "not int"),
    "gamma": (value("decision", "gamma", to=0.0), "gamma is not positive"),
    "gamma NaN": (value("decision", "gamma", to=float("nan")), "holds NaN"),
    "gamma text": (value("decision", "gamma", to="0.1"), "not float"),
    "large gamma": (value("decision", "gamma", to=1e35), "gamma=1e.35 is out of range"),
    "huge gamma": (value("decision", "gamma", to=10**400), "too large"),
    "alpha": (value("training", "alpha", to=-1e-3), "alpha is not positive"),
    "unit_alpha": (value("training", "unit_alpha", to=1e-300), "unit_alpha is out of range"),
    "offset": (value("training", "offset", to=None), "'offset' is 'None'"),
    "n_iter": (value("training", "n_iter", to=-1), "n_iter is negative"),
    "n_iter true": (value("training", "n_iter", to=True), "not int"),
    "no profile": (value("training", "profile", to=None), "'profile' is 'None'"),
    "kind of labels": (value("classes", "kind", to="date"), "unknown kind 'date'"),
    "labels as numbers": (value("classes", "kind", to="number"), "lacks the array 'classes.num"),
}
TASK = {"required": True, "name": "classification", "loss": "log_loss"}
TASKS = {
    "task": (TASK | {"name": "sorting"}, "for 'sorting' with the loss 'log_loss', which this"),
    "loss": (TASK | {"loss": "huber"}, "'classification' with the loss 'huber', which this"),
    "no loss": (TASK | {"loss": None}, "'loss' is 'None'"),
    "no classes": (TASK | {"name": "regression", "loss": "huber"}, "regression and has 3 classes"),
    "quantiles": (TASK | {"quantile": 0.5}, "'log_loss' does not go with its quantiles"),
}
VALUES = {
    "vector NaN": (numbers(VECTORS, 5, np.nan, "f4"), "not finite"),
    "vector infinite": (numbers(VECTORS, 5, -np.inf, "f4"), "not finite"),
    "vector huge": (numbers(VECTORS, 5, 1e30, "f4"), "squared norm overflows"),
    "coefficient NaN": (numbers("decision.dual_coef", 7, np.nan, "f8"), "not finite"),
    "coefficient huge": (numbers("decision.dual_coef", 7, 1e39, "f8"), "decision values overflow"),
    "intercept": (numbers("decision.intercept", 0, np.inf, "f8"), "not finite"),
    "extra values": (numbers("extra.values", 0, np.nan, "f8"), "not finite"),
    "state zero": (numbers("training.coefficients", 3, 0.0, "f8"), "is zero"),
    "sizes": (numbers("training.sizes", 0, 2**62, "i8"), "do not sum up"),
    "sizes sum": (numbers("training.sizes", 0, 1, "i8"), "do not sum up"),
    "steps": (numbers("training.steps", 1, 2**63 - 1, "i8"), "steps are out of range"),
    "no steps": (numbers("training.steps", 1, 0, "i8"), "steps are out of range"),
    "births": (numbers("training.births", 0, 2**40, "i8"), "in the steps that were made"),
    "generator": (numbers("training.generator", slice(0, 4), 0, "u8"), "all zeros"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_sections_and_shapes_that_contradict_each_other_are_refused(path, saved, name):
    change, reason = SHAPES[name]
    refused_after(change, saved, path, reason)


@pytest.mark.parametrize("name", TASKS)
def test_tasks_that_do_not_go_with_the_model_are_refused(path, saved, name):
    task, reason = TASKS[name]
    refused_after(value("task", to=task), saved, path, reason)


@pytest.mark.parametrize("quantile", [0.0, 1.0, "0.5", 1, [], [0.5, 0.5], [0.9, 0.1], [[0.1]]])
def test_quantiles_that_no_model_has_are_refused(quantile):
    with pytest.raises(ValueError, match="its quantiles"):
        check_quantiles(quantile)


@pytest.mark.parametrize("name", VALUES)
def test_numbers_that_no_model_has_are_refused(path, saved, name):
    change, reason = VALUES[name]
    refused_after(change, saved, path, reason)


@pytest.mark.parametrize("offset", [1e308, -2e30])
def test_an_offset_that_no_target_can_have_is_refused(offset):
    training, entries = {"offset": [0.0, offset]}, {}
    entries["decision.intercept"] = Entry(np.dtype("float64"), (2,))
    with pytest.raises(ValueError, match=r"offset .* is not 2 numbers up to 1e\+30"):
        _check_outputs({}, training, entries)
    training["offset"] = [0.0, 1e29]
    assert _check_outputs({}, training, entries) == 2
