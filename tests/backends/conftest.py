"""Backends to test: the native one; torch on the CPU and on a GPU, where they are."""

import pytest

from pocketsvm.backends.devices import backend_of


@pytest.fixture(params=["cpu", "torch:cpu", "cuda"])
def backend(request):
    return backend_on(request.param)


@pytest.fixture(params=["torch:cpu", "cuda"])
def device(request):
    """The name of a device of torch."""
    backend_on(request.param)
    return request.param


def backend_on(device):
    """Return the backend of a device; skip if this machine does not have it."""
    try:
        return backend_of(device, 1)
    except (ImportError, RuntimeError) as error:
        pytest.skip(str(error))
