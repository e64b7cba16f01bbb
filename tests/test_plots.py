"""Displays show what the estimators hold."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedSVC,
    BudgetedSVCCV,
    BudgetedSVR,
    MergeTable,
    plots,
)
from pocketsvm.plots import (
    BoundaryDisplay,
    BudgetDisplay,
    FeatureScalesDisplay,
    MergeTableDisplay,
    ProfileDisplay,
    TuningDisplay,
)
from pocketsvm.plots.axes import COLORS
from pocketsvm.profile import Profile

X, Y = make_moons(400, noise=0.15, random_state=0)
NAMES = np.array(["ham", "spam"])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def moons():
    return BudgetedSVC(budget=20, C=10, gamma=2.0, random_state=0).fit(X, NAMES[Y])


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def zero_lines(display):
    """The points of all contour lines at level 0, row by row."""
    lines = [c for c in display.ax_.collections if 0.0 in getattr(c, "levels", ())]
    return np.vstack([path.vertices for line in lines for path in line.get_paths()])


def scattered(display):
    """The collections of points: rows first, support vectors last."""
    return [c for c in display.ax_.collections if not hasattr(c, "levels")]


def legend_texts(display):
    return [text.get_text() for text in display.legend_.get_texts()]


# --- the boundary ---------------------------------------------------------------------------------


def test_the_boundary_is_where_the_decision_is_zero(moons):
    display = BoundaryDisplay.from_estimator(moons, X, NAMES[Y], grid_resolution=200)
    points = zero_lines(display)
    assert len(points) > 50
    assert np.abs(moons.decision_function(points)).max() < 0.02
    assert display.ax_.get_title() == f"400 rows, {len(moons.support_vectors_)} support vectors"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("feature 0", "feature 1")
    assert legend_texts(display)[:4] == ["boundary", "margin", "ham", "spam"]
    display.figure_.canvas.draw()


def test_support_vectors_show_their_position_side_and_weight(moons):
    display = BoundaryDisplay.from_estimator(moons, X, NAMES[Y])
    rows, vectors = scattered(display)
    assert_array_equal(rows.get_offsets(), X)
    assert_allclose(vectors.get_offsets(), moons.support_vectors_)
    coefficients = moons.dual_coef_[0]
    assert_array_equal(np.argsort(vectors.get_sizes()), np.argsort(np.abs(coefficients)))
    sides = [0.75 * np.array(to_rgb(COLORS[int(c > 0)])) for c in coefficients]
    assert_allclose(vectors.get_facecolors()[:, :3], sides)


def test_the_plane_is_shaded_by_the_prediction(moons):
    display = BoundaryDisplay.from_estimator(moons, X, grid_resolution=60)
    shades = display.ax_.images[0].get_array()
    points = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    bluer = (shades[..., 2] > shades[..., 0]).ravel()  # blue is ham, orange is spam
    sure = np.abs(moons.decision_function(points)) > 0.3
    assert_array_equal(bluer[sure], moons.predict(points[sure]) == "ham")
    assert len(scattered(display)) == 1  # without labels, rows are not drawn


def test_many_rows_are_subsampled_and_the_legend_says_so(moons):
    many = np.tile(X, (10, 1))
    display = BoundaryDisplay.from_estimator(moons, many, NAMES[np.tile(Y, 10)])
    assert_array_equal(scattered(display)[0].get_offsets(), many[::3])
    assert "row (1 in 3)" in legend_texts(display)
    assert display.ax_.get_title().startswith("4,000 rows")


def test_rows_of_more_features_are_shown_in_their_leading_components(iris):
    rows, y = iris
    model = BudgetedSVC(budget=15, random_state=0).fit(rows, y)
    display = BoundaryDisplay.from_estimator(model, rows, y, grid_resolution=100)
    components = PCA(2).fit(rows.to_numpy())
    assert display.ax_.get_xlabel() == "principal component 1 (92% of the variance)"
    drawn, vectors = scattered(display)
    assert_allclose(drawn.get_offsets(), components.transform(rows.to_numpy()), atol=1e-9)
    assert len(vectors.get_offsets()) == len(model.support_vectors_)
    # The response in the plane is the decision function of the estimator.
    corner = components.inverse_transform([[display.xx0[0, 0], display.xx1[0, 0]]])
    frame = pd.DataFrame(corner, columns=rows.columns)
    assert_allclose(display.response[0, 0], model.decision_function(frame)[0], rtol=1e-4, atol=1e-5)
    assert legend_texts(display)[:4] == ["boundary", "0", "1", "2"]


def test_a_pipeline_is_shown_in_the_units_of_its_input(iris):
    rows, y = iris
    rows = rows.iloc[:, 2:] * [1, 1000]
    pipeline = make_pipeline(StandardScaler(), BudgetedSVC(budget=9, random_state=0)).fit(rows, y)
    display = BoundaryDisplay.from_estimator(pipeline, rows, y, grid_resolution=50)
    assert display.ax_.get_xlabel() == "petal length (cm)"
    drawn, vectors = scattered(display)
    assert_allclose(drawn.get_offsets(), rows)
    back = pipeline[0].inverse_transform(pipeline[-1].support_vectors_)
    assert_allclose(vectors.get_offsets(), back, rtol=1e-5)


@pytest.mark.parametrize("step", [PolynomialFeatures(), FunctionTransformer(np.exp)])
def test_a_pipeline_without_inverse_is_shown_in_the_space_of_its_classifier(step):
    pipeline = make_pipeline(step, BudgetedSVC(budget=9, random_state=0)).fit(X, Y)
    display = BoundaryDisplay.from_estimator(pipeline, X, Y, grid_resolution=50)
    assert display.ax_.get_xlabel().startswith("principal component 1")


def test_sparse_rows_and_one_sided_planes_are_drawn(moons):
    sparse = scipy.sparse.csr_array(X)
    display = BoundaryDisplay.from_estimator(moons, sparse, NAMES[Y])
    assert_array_equal(scattered(display)[0].get_offsets(), X)
    one_side = X[moons.decision_function(X) > 1.05][:1]
    BoundaryDisplay.from_estimator(moons, one_side, margin=1e-3)  # the plane holds no boundary


def test_the_boundary_is_drawn_on_the_axes_given(moons):
    _, axes = plt.subplots(1, 2)
    display = BoundaryDisplay.from_estimator(moons, X, ax=axes[1])
    assert display.ax_ is axes[1]
    assert display.figure_ is axes[1].figure
    assert not axes[0].images
    assert display.plot(axes[0]).ax_ is axes[0]


def test_novelty_is_drawn_with_what_it_predicts():
    model = BudgetedOneClassSVM(budget=20, nu=0.1, gamma=2.0, random_state=0).fit(X)
    display = BoundaryDisplay.from_estimator(model, X, grid_resolution=200)
    points = zero_lines(display)
    assert len(points) > 50
    assert np.abs(model.decision_function(points)).max() < 0.02 * model.offset_
    assert legend_texts(display)[:3] == ["boundary", "outlier", "normal"]  # there is no margin
    assert_array_equal(display.row_codes, model.predict(X) > 0)
    assert_array_equal(display.vector_codes, model.dual_coef_[0] > 0)
    shades = display.ax_.images[0].get_array()
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    bluer = (shades[..., 2] > shades[..., 0]).ravel()
    sure = np.abs(model.decision_function(grid)) > 0.2 * model.offset_
    assert_array_equal(bluer[sure], model.predict(grid[sure]) == -1)
    truth = np.where(Y, 1, -1)
    display = BoundaryDisplay.from_estimator(model, X, truth)
    assert_array_equal(display.row_codes, Y)
    with pytest.raises(ValueError, match="labels that the model does not know"):
        BoundaryDisplay.from_estimator(model, X, Y)
    pipeline = make_pipeline(StandardScaler(), model).fit(X)
    display = BoundaryDisplay.from_estimator(pipeline, X)
    assert_array_equal(display.row_codes, pipeline.predict(X) > 0)


def test_errors_name_what_is_wrong_with_the_input_of_a_boundary(moons):
    with pytest.raises(NotFittedError):
        BoundaryDisplay.from_estimator(BudgetedSVC(), X)
    with pytest.raises(TypeError, match="ends in one, got LogisticRegression"):
        BoundaryDisplay.from_estimator(LogisticRegression().fit(X, Y), X)
    with pytest.raises(ValueError, match="classifier or novelty detection, got BudgetedSVR"):
        BoundaryDisplay.from_estimator(BudgetedSVR(budget=5).fit(X, Y), X)
    with pytest.raises(ValueError, match=r"does not know: .*'eggs'"):
        BoundaryDisplay.from_estimator(moons, X, np.where(Y, "eggs", "spam"))
    with pytest.raises(ValueError, match="one label for each of the 400 rows"):
        BoundaryDisplay.from_estimator(moons, X, NAMES[Y][:7])
    with pytest.raises(ValueError, match="expecting 2 features"):
        BoundaryDisplay.from_estimator(moons, np.ones((3, 5)))
    with pytest.raises(ValueError, match="0 sample"):
        BoundaryDisplay.from_estimator(moons, X[:0])
    line = BudgetedSVC(budget=5).fit(X[:, :1], Y)
    with pytest.raises(ValueError, match="at least two features"):
        BoundaryDisplay.from_estimator(line, X[:, :1])


# --- the profile ----------------------------------------------------------------------------------


def test_the_profile_shows_seconds_and_counts():
    profile = Profile(
        steps=1000,
        violations=300,
        merges=200,
        removals=0,
        seconds_total=2.0,
        seconds_margin=1.0,
        seconds_solve=0.25,
        seconds_rest=0.25,
        seconds_polish=0.5,
    )
    display = ProfileDisplay(profile=profile).plot()
    seconds, counts = ([bar.get_width() for bar in ax.patches] for ax in display.ax_)
    assert seconds == [1.0, 0.25, 0.25, 0.5, 0.5]
    assert counts == [1000, 300, 200, 0]
    notes = [text.get_text() for ax in display.ax_ for text in ax.texts]
    assert "1.00 s  (40.0%)" in notes
    assert "300  (30.0%)" in notes
    assert display.ax_[0].get_title() == "where 2.50 s went"


def test_the_profile_of_a_pipeline_is_that_of_its_last_step(moons):
    pipeline = make_pipeline(StandardScaler(), BudgetedSVC(budget=9, random_state=0)).fit(X, Y)
    display = ProfileDisplay.from_estimator(pipeline)
    assert display.profile is pipeline[-1].profile_
    assert display.ax_[1].patches[0].get_width() == pipeline[-1].profile_.steps >= len(X)
    ProfileDisplay(profile=Profile()).plot()  # zero steps, no division by zero
    with pytest.raises(ValueError, match="ax must be 2 axes"):
        display.plot(plt.subplots()[1])


# --- score against budget -------------------------------------------------------------------------


def test_existing_scores_are_drawn_in_the_order_of_their_budgets():
    display = BudgetDisplay(
        budgets=[40, 10, 20], scores=[[0.9, 1.0], [0.5, 0.5], [0.8, 0.9]], reference=0.97
    ).plot()
    assert_array_equal(display.line_.get_xdata(), [10, 20, 40])
    assert_allclose(display.line_.get_ydata(), [0.5, 0.85, 0.95])
    assert_array_equal(display.reference_line_.get_ydata(), [0.97, 0.97])
    assert display.reference_line_.get_linestyle() == "--"
    band = display.ax_.collections[0].get_paths()[0].vertices
    assert_allclose([band[:, 1].min(), band[:, 1].max()], [0.5, 1.0])
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["10", "20", "40"]
    single = BudgetDisplay(budgets=[1, 2], scores=[0.1, 0.2]).plot()
    assert not single.ax_.collections
    assert single.reference_line_ is None
    with pytest.raises(ValueError, match=re.escape("shape (2,) and scores of shape (3,)")):
        BudgetDisplay(budgets=[1, 2], scores=[1, 2, 3])


def test_budgets_are_cross_validated():
    pipeline = make_pipeline(StandardScaler(), BudgetedSVC(C=10, random_state=0))
    display = BudgetDisplay.from_estimator(
        pipeline, X, Y, budgets=[2, 16], cv=3, scoring="balanced_accuracy"
    )
    assert display.scores.shape == (2, 3)
    assert display.line_.get_ydata()[1] > display.line_.get_ydata()[0]
    assert display.ax_.get_ylabel() == "balanced_accuracy"
    numbers = BudgetDisplay.from_estimator(BudgetedSVR(random_state=0), X, Y, budgets=[8], cv=2)
    assert numbers.ax_.get_ylabel() == "R²"
    by_hand = GridSearchCV(
        pipeline, {"budgetedsvc__budget": [16]}, cv=3, scoring="balanced_accuracy"
    ).fit(X, Y)
    assert_allclose(display.line_.get_ydata()[1], by_hand.best_score_)


# --- the merge table ------------------------------------------------------------------------------


def test_the_merge_table_is_drawn_by_its_display():
    table = MergeTable(100)
    display = MergeTableDisplay(table=table).plot()
    titles = [ax.get_title() for ax in display.ax_]
    assert titles == [r"$h(m, \kappa)$", r"$wd(m, \kappa)$"]
    lines = display.ax_[0].collections[1]
    level = 6
    points = lines.get_paths()[level].vertices
    inside = points[(points[:, 1] > 0.2) & (points[:, 1] < 0.95)]
    assert_allclose(table.h(*inside.T), lines.levels[level], atol=1e-3)
    axes = table.plot(display.ax_)
    assert axes is display.ax_


# --- the tuning map -------------------------------------------------------------------------------


def test_the_map_shows_every_score_and_frames_the_best():
    search = GridSearchCV(
        BudgetedSVC(budget=10, random_state=0), {"C": [1, 0.01], "gamma": [0.01, 1, 4]}, cv=3
    ).fit(X, Y)
    display = TuningDisplay.from_estimator(search)
    image = display.image_.get_array()
    assert image.shape == (3, 2)
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        cell = [0.01, 1, 4].index(params["gamma"]), [0.01, 1].index(params["C"])
        assert image[cell] == score
        assert display.texts_[cell].get_text() == f"{score:.3f}"
    (frame,) = display.ax_.patches
    assert not frame.get_clip_on()  # complete at the border too
    assert frame.get_xy() == (0.5, [0.01, 1, 4].index(search.best_params_["gamma"]) - 0.5)
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["0.01", "1", "4"]


def test_scores_of_dropped_candidates_are_in_italics():
    rows, y = make_moons(4000, noise=0.2, random_state=0)
    search = BudgetedSVCCV(20, Cs=[1, 8], gammas=[0.125, 1, 4], max_iter=2, random_state=0)
    search.fit(rows, y)
    display = TuningDisplay.from_estimator(search)
    styles = [text.get_style() for text in display.texts_.flat]
    assert sorted(styles) == ["italic"] * 5 + ["normal"]
    assert "italic" in display.ax_.get_title()
    labels = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert labels == ["$2^{-3}$", "$2^{0}$", "$2^{2}$"]


# --- the module -----------------------------------------------------------------------------------


def test_every_public_display_draws_and_is_documented():
    for name in plots.__all__:
        display = getattr(plots, name)
        assert ">>> " in display.__doc__, f"{name} has no example"
        assert callable(display.plot)


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch, moons):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=re.escape("pip install 'pocketsvm[plot]'")):
        ProfileDisplay.from_estimator(moons)


def test_one_fit_gives_the_scores_of_all_budgets():
    X, y = make_moons(300, noise=0.2, random_state=0)
    search = BudgetedSVCCV("auto", Cs=[10], gammas=[1.0], cv=3, random_state=0)
    with pytest.raises(NotFittedError):
        BudgetDisplay.from_estimator(search)
    display = BudgetDisplay.from_estimator(search.fit(X, y))
    assert_array_equal(display.budgets, search.budgets_)
    assert_array_equal(display.scores, search.budget_scores_)
    assert_allclose(display.line_.get_ydata(), search.budget_scores_.mean(axis=1))
    with pytest.raises(ValueError, match="compared no budgets"):
        BudgetDisplay.from_estimator(search.set_params(budget=20).fit(X, y))


# --- feature scales -------------------------------------------------------------------------------


def bars(display):
    """The names and lengths of the bars, from the top."""
    names = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    return dict(zip(names, [bar.get_width() for bar in display.ax_.patches], strict=True))


def scaled(scales, X, y):
    return BudgetedSVC(budget=20, feature_scales=scales, random_state=0).fit(X, y)


def test_feature_scales_are_drawn_by_name_the_largest_first(iris):
    X, y = iris
    display = FeatureScalesDisplay.from_estimator(scaled([0.5, 2.0, 0.0, 1.0], X, y))
    assert list(bars(display).items()) == [
        ("sepal width (cm)", 2.0),
        ("petal width (cm)", 1.0),
        ("sepal length (cm)", 0.5),
        ("petal length (cm)", 0.0),
    ]
    assert display.ax_.get_title() == "feature scales"
    assert display.ax_.yaxis.get_view_interval()[0] > display.ax_.yaxis.get_view_interval()[1]
    unnamed = FeatureScalesDisplay.from_estimator(scaled([0.5, 2.0, 0.0, 1.0], X.to_numpy(), y))
    assert list(bars(unnamed)) == ["x1", "x3", "x0", "x2"]


def test_feature_scales_per_standard_deviation_compare_units(iris):
    X, y = iris
    for rows in (X, scipy.sparse.csr_array(X.to_numpy())):
        clf = scaled([1.0, 1.0, 1.0, 1.0], rows, y)
        display = FeatureScalesDisplay.from_estimator(clf, rows)
        expected = sorted(X.std(ddof=0).tolist(), reverse=True)
        assert_allclose(list(bars(display).values()), expected)
        assert display.ax_.get_title() == "feature scales per standard deviation"


def test_feature_scales_after_steps_have_the_names_of_their_columns(iris):
    X, y = iris
    scales = [0.5, 2.0, 0.0, 1.0]
    machine = BudgetedSVC(20, feature_scales=scales, random_state=0)
    pipeline = make_pipeline(StandardScaler(), machine).fit(X, y)
    assert next(iter(bars(FeatureScalesDisplay.from_estimator(pipeline)))) == "sepal width (cm)"
    relative = FeatureScalesDisplay.from_estimator(pipeline, X)
    assert_allclose(list(bars(relative).values()), [2.0, 1.0, 0.5, 0.0])
    steps = make_pipeline(FunctionTransformer(lambda X: X), machine).fit(X, y)
    assert next(iter(bars(FeatureScalesDisplay.from_estimator(steps)))) == "x1"
    components = make_pipeline(PCA(4), machine).fit(X, y)
    assert next(iter(bars(FeatureScalesDisplay.from_estimator(components)))) == "pca1"


def test_feature_scales_of_a_search_and_of_a_preparation():
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"size": random.normal(size=200)})
    rows["colour"] = random.choice(["red", "blue"], 200)
    y = (rows["colour"] == "red") ^ (rows["size"] > 0)

    class Batches:
        one_hot = ("colour",)

        def batches(self):
            yield rows, y.to_numpy()

    given = {"feature_scales": [2.0, 0.5, 1.0], "random_state": 0}
    clf = BudgetedSVC(20, **given).fit(Batches())
    assert list(bars(FeatureScalesDisplay.from_estimator(clf))) == [
        "size",
        "colour_red",
        "colour_blue",
    ]
    relative = FeatureScalesDisplay.from_estimator(clf, rows)
    assert_allclose(bars(relative)["size"], 2.0 * rows["size"].std(ddof=0))
    search = BudgetedSVCCV(10, Cs=[1.0], gammas=[0.5], cv=2, **given)
    search.fit(np.hstack([rows[["size"]], np.eye(2)[y.astype(int)]]), y)
    assert list(bars(FeatureScalesDisplay.from_estimator(search))) == ["x0", "x2", "x1"]


def test_many_feature_scales_are_counted():
    X = np.random.default_rng(0).normal(size=(100, 30))
    clf = scaled(np.arange(30.0), X, X[:, 0] > 0)
    display = FeatureScalesDisplay.from_estimator(clf)
    assert len(bars(display)) == 20
    assert display.ax_.get_xlabel() == "10 more features have scales up to 9"
    few = FeatureScalesDisplay.from_estimator(clf, max_features=29)
    assert few.ax_.get_xlabel() == "1 more feature has scales up to 0"
    assert few.figure_.get_figheight() > display.figure_.get_figheight()
    assert display.plot(few.ax_).ax_ is few.ax_


def test_long_names_and_formulas_of_features_fit():
    names = ["a very long name of a feature that nobody can read", "$x$"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=names)
    display = FeatureScalesDisplay.from_estimator(scaled([2.0, 1.0], X, X["$x$"] > 0))
    assert list(bars(display)) == ["a very long na…obody can read", r"\$x\$"]
    display.figure_.canvas.draw()


def test_a_model_that_weighs_all_features_alike_has_nothing_to_draw(moons):
    with pytest.raises(ValueError, match=r"weighs all features alike\. Fit it with feature_scales"):
        FeatureScalesDisplay.from_estimator(moons)
    with pytest.raises(NotFittedError):
        FeatureScalesDisplay.from_estimator(BudgetedSVC())
    with pytest.raises(TypeError, match="Expected an estimator of pocketsvm"):
        FeatureScalesDisplay.from_estimator(LogisticRegression().fit(X, Y))


def test_the_legend_lists_only_lines_that_are_there():
    """Far from the other class, there is no boundary; close to the rows, there is a margin."""
    X, y = np.array([[-3.0, 0.0], [-2.9, 0.1], [3.0, 0.0], [3.0, 0.2]] * 5), [0, 0, 1, 1] * 5
    clf = BudgetedSVC(8, C=1.0, gamma=0.05, random_state=0).fit(X, y)
    one_side = BoundaryDisplay.from_estimator(clf, X[:2], margin=0.0)
    assert "boundary" not in legend_texts(one_side)
    assert "margin" not in legend_texts(one_side) or one_side._has_margin
    both = BoundaryDisplay.from_estimator(clf, X)
    assert legend_texts(both)[:2] == ["boundary", "margin"]
