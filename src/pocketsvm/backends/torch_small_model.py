"""The small model whose feature scales are learnt, on a device of torch."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .gradient import gradients
from .small_model import JITTER
from .torch_batches import kernel_of
from .torch_rows import exact_products, imported, tensor

Array = NDArray[Any]


class TorchSmallModel:
    """A model with squared loss; a point holds log s and the vectors, in standardised features."""

    def __init__(self, X: Array, values: Array, c: Array, penalty: float, device: str) -> None:
        torch = imported()
        self.device, self._penalty = device, penalty * float(c.sum())
        self._X, self._c = tensor(X, device, torch.float32), tensor(c, device, torch.float64)
        self._values, self._squares = tensor(values, device, torch.float64), self._X.square()
        self.point = np.empty(0)
        self._coefficients = self._intercepts = None
        self._other: tuple[Any, Any] = None, None

    def decisions(self, X: Array, point: Array) -> Array:
        """Return the decision values of rows; `solve` was called with this point."""
        if self._other[0] is not X:
            self._other = X, tensor(X, self.device, imported().float32)
        scales, u = self._unpacked(point)
        with exact_products():
            kernel = kernel_of(self._other[1] * scales.float(), u.float())
            found: Array = (kernel.double() @ self._coefficients + self._intercepts).cpu().numpy()
        return found

    def solve(self, point: Array) -> tuple[Any, Any, Any, Any]:
        """Solve for the coefficients.

        Returns the scaled rows, the kernel values in single and double precision, and those among
        the vectors.
        """
        torch = imported()
        scales, u = self._unpacked(point)
        with exact_products():
            Z = self._X * scales.float()
            kernel, among = kernel_of(Z, u.float()), kernel_of(u, u)
            double = kernel.double()
            n, c = len(u), self._c
            weighted = double * c[:, None]
            matrix = torch.empty((n + 1, n + 1), device=self.device, dtype=torch.float64)
            matrix[:-1, :-1] = double.T @ weighted + among
            matrix.diagonal()[:-1].add_(JITTER)
            matrix[-1, :-1] = matrix[:-1, -1] = weighted.sum(dim=0)
            matrix[-1, -1] = c.sum()
            right = torch.cat(
                [weighted.T @ self._values, (c[:, None] * self._values).sum(dim=0, keepdim=True)]
            )
            solution = torch.cholesky_solve(right, torch.linalg.cholesky(matrix))
        self.point = point.copy()
        self._coefficients, self._intercepts = solution[:-1], solution[-1]
        return Z, kernel, double, among

    def objective(self, point: Array) -> tuple[float, Array]:
        """Return the objective and its gradient, with the coefficients solved for."""
        Z, kernel, double, among = self.solve(point)
        scales, u = self._unpacked(point)
        beta: Any = self._coefficients
        with exact_products():
            residuals = double @ beta + self._intercepts - self._values
            slopes = self._c[:, None] * residuals
            value = 0.5 * float((slopes * residuals).sum() + (beta * (among @ beta)).sum())
            weights = (slopes.float() @ beta.T.float()).mul_(kernel)
            pull = (weights.T @ Z).double()
            total = weights.double().sum(dim=0)
            squares = scales.square() * (weights.sum(dim=1) @ self._squares).double()
            in_u, in_log = gradients(pull, total, squares, among * (beta @ beta.T), u)
        n_features = len(scales)
        deviation = point[:n_features] - point[:n_features].mean()
        value += self._penalty * float(np.square(deviation).mean())
        gradient = np.append(in_log.cpu().numpy(), (in_u * scales).cpu().numpy().ravel())
        gradient[:n_features] += 2 * self._penalty / n_features * deviation
        unit = float(self._c.sum())
        return value / unit, gradient / unit

    def _unpacked(self, point: Array) -> tuple[Any, Any]:
        """Return the scales and the scaled vectors of a point."""
        n_features = self._X.shape[1]
        scales = tensor(np.exp(point[:n_features]), self.device)
        return scales, tensor(point[n_features:].reshape(-1, n_features), self.device) * scales
