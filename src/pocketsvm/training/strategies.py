"""The names of the maintenance strategies, in the order in which tables show them."""

from .. import _core

STRATEGIES = tuple(_core.strategies())
