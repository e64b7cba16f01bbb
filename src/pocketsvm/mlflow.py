"""What MLflow needs to serve a model file: ``loader_module="pocketsvm.mlflow"``."""

from typing import Any

from .estimators.loading import load_model


class ModelFile:
    """A model from a file, with the method that MLflow calls.

    Parameters
    ----------
    path : str
        The model file.
    """

    def __init__(self, path: str) -> None:
        self.model = load_model(path)

    def predict(self, X: Any, params: dict[str, Any] | None = None) -> Any:
        """Call a method of the model: `predict`, or the one that the parameter `method` names.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        params : dict, default=None
            ``{"method": "predict_proba"}`` or ``{"method": "decision_function"}``.

        Returns
        -------
        values : ndarray
            What the method returns.
        """
        method = (params or {}).get("method", "predict")
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
        return getattr(self.model, method)(X)


METHODS = ("predict", "predict_proba", "decision_function")


def _load_pyfunc(path: str) -> ModelFile:
    """Return the model of a file; MLflow looks for this name."""
    return ModelFile(path)
