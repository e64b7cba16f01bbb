"""``pocketsvm inspect``."""

import json

import pytest
from sklearn.datasets import make_moons

from pocketsvm import BudgetedSVC, load_model, save_model

from .files import FAST


def test_inspect(succeed, blobs):
    succeed("train", "blobs.csv", "m.psvm", *FAST, "--scale", "standard", "--n-jobs", 1)
    found = json.loads(succeed("inspect", "m.psvm", "--json"))
    assert (found["estimator"], found["format_version"]) == ("BudgetedSVC", 3)
    vectors = load_model("m.psvm")[-1].support_vectors_
    assert (found["vectors"], found["features"]) == vectors.shape
    assert (found["preparation"], found["classes"]) == (["StandardScaler"], ["ash", "elm", "oak"])
    assert found["feature_names"] == ["a", "b", "c"]
    assert found["label_column"] == "tree"
    assert found["parameters"]["n_jobs"] == 1
    shown = succeed("inspect", "m.psvm")
    assert "StandardScaler" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    "extra",
    [
        {"spellings": ["a"]},
        {"spellings": [1, 2]},
        {"spellings": "ab"},
        {"label": []},
        {"dropped": ["a"]},
        {"first_index": 7},
    ],
)
def test_what_is_kept_beside_the_model_is_checked(call, folder, extra):
    X, y = make_moons(100, random_state=0)
    save_model(BudgetedSVC(5, random_state=0).fit(X, y), "m.psvm", extra=extra)
    code, _, err = call("inspect", "m.psvm")
    assert (code, err) == (
        1,
        "pocketsvm: m.psvm: what it says about the columns and labels of its training file is "
        "damaged.\n",
    )
