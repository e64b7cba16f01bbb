"""The models that are measured."""

import pytest
from sklearn.datasets import make_moons

from pocketsvm.paper import models
from pocketsvm.paper.datasets.problems import TrainTest


@pytest.mark.parametrize("name", [models.POCKETSVM, models.EXACT, *models.APPROXIMATIONS])
def test_models_learn(name):
    X, y = make_moons(300, noise=0.1, random_state=0)
    model = models.make(name, C=10.0, gamma=2.0, n_rows=len(y), budget=60, seed=0)
    made = models.fit_and_predict(model, TrainTest(X, y, X, y))
    assert made.accuracy > 90
    approximate = name in models.APPROXIMATIONS
    assert made.vectors == (60 if approximate else len(model.support_vectors_))
    assert min(made.seconds_fit, made.seconds_a_prediction) > 0


def test_summary_of_runs():
    runs = [models.Run(80.0, 1.0, 2e-6, 10), models.Run(84.0, 3.0, 1e-6, 12)]
    assert models.summarise(runs) == {
        "size": 12,
        "accuracy": 82.0,
        "deviation": pytest.approx(8**0.5),
        "fit": 2.0,
        "predict": pytest.approx(1.0),
        "seeds": 2,
    }
