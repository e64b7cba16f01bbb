"""Mini-batches on a device of torch: on a GPU, one launch replays all work of a step."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batches import KEPT, KEPT_SQUARES, LEAST, Start, Unknowns
from .gradient import gradients
from .slices import slices
from .torch_losses import DeviceLosses
from .torch_rows import DeviceRows, exact_products, fitting, imported, tensor

Array = NDArray[Any]

# Steps before the work of one is recorded, so that libraries are ready.
FIRST_STEPS = 3


class TorchBatches:
    """Adam's iterates, on a device."""

    def __init__(self, sample: Any, start: Start, rows: DeviceRows) -> None:
        torch = imported()
        self._rows, self.device = rows, rows.device
        self._losses = DeviceLosses(sample.loss.formula, slice(None), self.device)
        self._c = tensor(sample.c, self.device, torch.float64)
        self._weight, self._tilt = 1.0 / sample.total_c, sample.tilt
        self.unit, self.centre = start.unit, start.centre
        self._shift = start.unit * (start.centre - rows.centre)  # rows there have another centre
        self._now = [tensor(each, self.device) for each in _arrays(start.unknowns)]
        self._now[1] += tensor(self._shift, self.device, torch.float32)
        self._rates = [float(each) for each in _arrays(start.rates)]
        self._mean = [torch.zeros_like(each) for each in self._now]
        self._square = [torch.zeros_like(each) for each in self._now]
        self._numbers = torch.zeros(2, device=self.device)
        self._chosen: Any = None
        self._graph: Any = None
        self._n_steps = 0

    @property
    def unknowns(self) -> Unknowns:
        """The current iterate."""
        logs, vectors, coefficients, intercepts = (each.cpu().numpy() for each in self._now)
        moved = (vectors - self._shift).astype(np.float32)
        return Unknowns(logs, moved, coefficients, intercepts)

    def step(self, chosen: Array, height: float, number: int) -> None:
        """Make a step for some rows, up to a share of the largest one; the first has number one."""
        torch = imported()
        if self._chosen is None:
            self._chosen = torch.empty(len(chosen), dtype=torch.int64, device=self.device)
        self._chosen.copy_(torch.from_numpy(chosen.astype(np.int64)))
        root = float(np.sqrt(1 - KEPT_SQUARES**number))
        height *= root / (1 - KEPT**number)
        self._numbers.copy_(torch.tensor([height, root * LEAST]))
        self._n_steps += 1
        with exact_products():
            if self._graph is not None:
                self._graph.replay()
            elif self._n_steps <= FIRST_STEPS or not self._can_record:
                self._advance()
            else:
                self._graph = torch.cuda.CUDAGraph()
                with torch.cuda.device(self.device), torch.cuda.graph(self._graph):
                    self._advance()
                self._graph.replay()

    @property
    def _can_record(self) -> bool:
        return self.device.startswith("cuda") and self._rows.is_resident

    def loss(self, chosen: Array) -> float:
        """Return the weighted losses of some rows."""
        places = tensor(np.sort(chosen), self.device)

        def total(n_values: int) -> float:
            found = 0.0
            for some in slices(len(chosen), max(1, n_values // len(self._now[1]))):
                at = places[some]
                _, _, decisions = self._decided(at)
                values = self._losses.take(at).derivatives(decisions).values
                found += float((self._c[at] @ values).sum())
            return found

        with exact_products():
            return fitting(self.device, total)

    def _decided(self, at: Any) -> tuple[Any, Any, Any]:
        """Return rows times their factors, kernel values, and decision values."""
        logs, vectors, coefficients, intercepts = self._now
        factors = logs.exp()
        Z = self._rows.at(at) * (self.unit * factors)
        kernel = kernel_of(Z, vectors * factors)
        return Z, kernel, (kernel @ coefficients + intercepts).double()

    def _advance(self) -> None:
        """Make one step for the chosen rows: no work of it waits for the CPU."""
        torch = imported()
        gradient = self._gradient()
        rates: list[Any] = list(self._rates)
        rates[1] = self._rates[1] / self._now[0].exp()
        height, least = self._numbers
        for now, mean, square, slope, rate in zip(
            self._now, self._mean, self._square, gradient, rates, strict=True
        ):
            mean.lerp_(slope, 1 - KEPT)
            square.mul_(KEPT_SQUARES).addcmul_(slope, slope, value=1 - KEPT_SQUARES)
            now.sub_(height * rate * mean / (torch.sqrt(square) + least))

    def _gradient(self) -> list[Any]:
        """Return the gradient of the objective over the sum of C, from the losses of the rows."""
        logs, vectors, beta, _ = self._now
        factors = logs.exp()
        u = vectors * factors
        c, losses = self._c[self._chosen], self._losses.take(self._chosen)
        Z, kernel, decisions = self._decided(self._chosen)
        slopes = (losses.derivatives(decisions).slopes * (c / c.sum())[:, None]).float()
        weights = (slopes @ beta.T) * kernel
        pull, total = weights.T @ Z, weights.sum(dim=0)
        squares = weights.sum(dim=1) @ Z.square()
        among = kernel_of(u, u)
        in_beta = kernel.T @ slopes + self._weight * (among @ beta)
        m = self._weight * among * (beta @ beta.T)
        in_u, in_logs = gradients(pull, total, squares, m, u)
        in_b = slopes.sum(dim=0) + self._weight * self._tilt
        return [in_logs, in_u * factors, in_beta, in_b]


def _arrays(unknowns: Unknowns) -> tuple[Array, ...]:
    return unknowns.logs, unknowns.vectors, unknowns.coefficients, unknowns.intercepts


def kernel_of(Z: Any, u: Any) -> Any:
    """Return the kernel values of rows and vectors."""
    exponents = imported().addmm(-u.square().sum(dim=1), Z, u.T, alpha=2.0)
    return exponents.sub_(Z.square().sum(dim=1, keepdim=True)).clamp_max_(0.0).exp_()
