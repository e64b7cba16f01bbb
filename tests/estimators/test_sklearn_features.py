"""What scikit-learn gives to its estimators: displays, routing, callbacks, tags, data frames."""

import importlib
from email.message import Message

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVCCV,
    BudgetedSVR,
    BudgetedSVRCV,
)
from pocketsvm.dask import DaskBudgetedSVC, DaskBudgetedSVR

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 3))
Y = (X[:, 0] > 0).astype(int)
SEARCH = {"Cs": [1.0], "gammas": [0.3], "cv": 2}
ESTIMATORS = {
    "SVC": BudgetedSVC(5, max_iter=2, random_state=0),
    "SVR": BudgetedSVR(5, max_iter=2, random_state=0),
    "OneClassSVM": BudgetedOneClassSVM(5, max_iter=2, random_state=0),
    "Ranker": BudgetedRanker(5, max_iter=2, random_state=0),
    "SVCCV": BudgetedSVCCV(5, max_iter=2, random_state=0, **SEARCH),
    "SVRCV": BudgetedSVRCV(5, max_iter=2, random_state=0, **SEARCH),
}
ON_DASK = {
    "DaskSVC": DaskBudgetedSVC(5, max_iter=2, random_state=0),
    "DaskSVR": DaskBudgetedSVR(5, max_iter=2, random_state=0),
}
EVERY = pytest.mark.parametrize("given", ESTIMATORS.values(), ids=ESTIMATORS)


class Counts:
    """A callback that counts the tasks of a fit."""

    begun = ended = 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1

    def on_fit_task_end(self, estimator, context):
        self.ended += 1

    def teardown(self, estimator, context):
        pass


def fresh(estimator):
    return type(estimator)(**estimator.get_params(deep=False))


@EVERY
def test_the_display_shows_fitted_attributes(given):
    estimator = fresh(given).fit(X, Y)
    page = estimator._repr_html_()
    for name in ("support_vectors_", "dual_coef_", "gamma_", "n_features_in_"):
        assert name in page
        assert name not in fresh(given)._repr_html_()
    assert "(5, 3)" in page


@pytest.mark.parametrize("given", [*ESTIMATORS.values(), *ON_DASK.values()], ids=str)
def test_the_display_links_to_the_documentation_that_the_package_names(given, monkeypatch):
    from pocketsvm import _sklearn

    found = Message()
    monkeypatch.setattr(_sklearn, "metadata", lambda name: found)
    assert given._get_doc_link() == ""
    found["Project-URL"] = "Source, https://source.invalid"
    found["Project-URL"] = "Documentation, https://docs.invalid/latest/"
    cls = type(given)
    room = "pocketsvm.dask" if "Dask" in cls.__name__ else "pocketsvm"
    page = room.split(".")[-1]
    link = given._get_doc_link()
    assert link == f"https://docs.invalid/latest/api/{page}/#{room}.{cls.__name__}"
    assert link in given._repr_html_()
    assert cls is getattr(importlib.import_module(room), cls.__name__)


@EVERY
def test_metadata_is_routed_without_warnings(given):
    weights = np.where(X[:, 1] > 0, 3.0, 0.5)
    if isinstance(given, BudgetedRanker):  # constant within a query, and all rows are one
        weights = np.full(len(X), 2.0)
    with config_context(enable_metadata_routing=True):
        machine = fresh(given).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), machine)
        pipeline.fit(X, Y, sample_weight=weights)
    rows = StandardScaler().fit_transform(X)
    twin = fresh(given).fit(rows, Y, sample_weight=weights)
    assert_array_equal(pipeline[-1].dual_coef_, twin.dual_coef_)


@EVERY
def test_callbacks_follow_every_fit(given):
    counts = Counts()
    fresh(given).set_callbacks(counts).fit(X, Y)
    assert counts.begun == counts.ended > 1


@pytest.mark.parametrize("library", ["polars", "narwhals", "pandas", "pyarrow"])
@EVERY
def test_data_frames_are_rows_with_names(given, library):
    module = pytest.importorskip("polars" if library == "narwhals" else library)
    columns = {name: X[:, k] for k, name in enumerate("abc")}
    make = module.table if library == "pyarrow" else module.DataFrame
    frame = make(columns)
    if library == "narwhals":
        frame = pytest.importorskip("narwhals").from_native(frame)
    found = fresh(given).fit(frame, Y)
    # scikit-learn itself reads no names of frames that narwhals wraps.
    names = StandardScaler().fit(frame)
    assert hasattr(found, "feature_names_in_") == hasattr(names, "feature_names_in_")
    if library != "narwhals":
        assert found.feature_names_in_.tolist() == ["a", "b", "c"]
    twin = fresh(given).fit(X, Y)
    assert_array_equal(found.predict(frame), twin.predict(X))


@EVERY
def test_tags_say_what_an_estimator_takes(given):
    tags = given.__sklearn_tags__()
    kinds = {"SVC": "classifier", "SVR": "regressor", "OneClassSVM": "outlier_detector"}
    name = type(given).__name__.removeprefix("Budgeted").removesuffix("CV")
    assert tags.estimator_type == kinds.get(name)
    assert tags.input_tags.sparse
    assert tags.target_tags.required == (name != "OneClassSVM")
    assert tags.target_tags.multi_output == (type(given) is BudgetedSVR)


# The checks that fit rows in memory, which the estimators for clusters do not take, are left out.
API_CHECKS = {
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
}
CHECKS = [
    (estimator, check)
    for estimator in ON_DASK.values()
    for estimator, check in estimator_checks_generator(estimator)
    if check.func.__name__ in API_CHECKS
]


@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=lambda each: getattr(each, "func", each.__class__).__name__
)
def test_scikit_learn_checks_of_estimators_for_clusters(estimator, check):
    check(estimator)


def test_no_check_is_forgotten():
    assert {check.func.__name__ for _, check in CHECKS} == API_CHECKS
