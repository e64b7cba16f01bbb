"""The survey: rows elsewhere are sampled as rows that are read in this process."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pocketsvm.rows.chunk import Chunk, Needs
from pocketsvm.rows.drawing import Plan
from pocketsvm.rows.preparation import Preparing
from pocketsvm.rows.source import ChunkSource
from pocketsvm.rows.survey import survey

N = 3000


class Remote(ChunkSource):
    """A source that keeps no reservoir, and counts its scans."""

    is_remote = True
    n_scans = 0

    def scan(self, reading, follow=None):
        self.n_scans += 1
        return super().scan(reading, follow)


@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize(("decades", "n_scans"), [(0, 2), (12, 3)])
def test_a_remote_sample_is_that_of_a_local_source(numbers, decades, n_scans):
    """Where few rows have nearly all weight, the sample takes more scans."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(N, 2)), random.integers(0, 2, N).astype(float)
    weight = 10.0 ** random.uniform(-decades, 0, N)
    parts = np.array_split(np.arange(N), 7)
    chunks = [Chunk(X[k], y[k], weight[k], "here") for k in parts]
    remote = Remote(lambda: iter(chunks))
    found, expected = (
        survey(source, Needs(numbers=numbers), Plan(500, 50, 3), Preparing())
        for source in (remote, ChunkSource(lambda: iter(chunks)))
    )
    assert remote.n_scans == n_scans
    assert found.rows.n_rows == expected.rows.n_rows < N
    assert_array_equal(found.rows.X, expected.rows.X)
    assert_array_equal(found.survey.factors, expected.survey.factors)
