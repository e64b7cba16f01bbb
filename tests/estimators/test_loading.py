"""Loading estimators: names and parameters that no estimator has are refused."""

import pytest
from model_files import problem, refused_after, small, value

from pocketsvm import save_model

PARAMETERS = ("training", "parameters")
FORGERIES = {
    "estimator": (value("training", "estimator", to="Future"), "'Future', which this"),
    "kind of estimator": (
        value("training", "estimator", to="BudgetedMachine"),
        "'BudgetedMachine', which this",
    ),
    "unknown parameter": (value(*PARAMETERS, "future", to=1), "parameter 'future' is not known"),
    "huge budget": (value(*PARAMETERS, "budget", to=10**400), "too large"),
    "bad parameter": (value(*PARAMETERS, "C", to=-1.0), "'C' parameter"),
    "infinite parameter": (value(*PARAMETERS, "C", to=float("inf")), "holds Infinity"),
    "threads": (value(*PARAMETERS, "n_jobs", to=2**31), "n_jobs=2147483648 is out of range"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.psvm"
    save_model(small().fit(*problem()), path)
    return path


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_estimators_are_refused(tmp_path, saved, name):
    change, reason = FORGERIES[name]
    refused_after(change, saved, tmp_path / "model.psvm", reason)


def test_a_regression_with_classes_is_refused(tmp_path, saved):
    def change(header, data):
        training = header["sections"]["training"]
        training["estimator"] = "BudgetedSVR"
        del training["parameters"]["class_weight"]

    refused_after(change, saved, tmp_path / "model.psvm", "is a BudgetedSVR with 2 classes")
