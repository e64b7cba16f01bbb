"""Loading estimators: names and parameters that no estimator has are refused."""

import pytest
from model_files import closed, opened, problem, refused_after, small, value

from pocketsvm import load_model, save_model

PARAMETERS = ("training", "parameters")
FORGERIES = {
    "estimator": (value("training", "estimator", to="Future"), "'Future' for classification"),
    "kind of estimator": (
        value("training", "estimator", to="BudgetedMachine"),
        "'BudgetedMachine' for classification",
    ),
    "unknown parameter": (value(*PARAMETERS, "future", to=1), "parameter 'future' is not known"),
    "huge budget": (value(*PARAMETERS, "budget", to=10**400), "too large"),
    "bad parameter": (value(*PARAMETERS, "C", to=-1.0), "'C' parameter"),
    "infinite parameter": (value(*PARAMETERS, "C", to=float("inf")), "holds Infinity"),
    "no threads": (value(*PARAMETERS, "n_jobs", to=0), "n_jobs=0 is out of range: use None, 1 to"),
    "many threads": (value(*PARAMETERS, "n_jobs", to=1025), "n_jobs=1025 is out of range"),
    "most threads": (value(*PARAMETERS, "n_jobs", to=2**31 - 1), "n_jobs=2147483647 is out"),
    "few threads": (value(*PARAMETERS, "n_jobs", to=-1025), "n_jobs=-1025 is out of range"),
    "huge threads": (value(*PARAMETERS, "n_jobs", to=-(10**30)), "n_jobs=-10{30} is out of range"),
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


@pytest.mark.parametrize("n_jobs", [None, 1, 1024, -1, -1024])
def test_numbers_of_threads_that_load(tmp_path, saved, n_jobs):
    header, data = opened(saved)
    value(*PARAMETERS, "n_jobs", to=n_jobs)(header, data)
    (tmp_path / "model.psvm").write_bytes(closed(header, data))
    assert load_model(tmp_path / "model.psvm").n_jobs == n_jobs


def test_a_regression_with_classes_is_refused(tmp_path, saved):
    def change(header, data):
        training = header["sections"]["training"]
        training["estimator"] = "BudgetedSVR"
        del training["parameters"]["class_weight"]

    refused_after(change, saved, tmp_path / "model.psvm", "holds a 'BudgetedSVR' for classi")
