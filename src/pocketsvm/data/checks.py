"""All checks."""

from .rows import *  # noqa: F403
from .targets import *  # noqa: F403
