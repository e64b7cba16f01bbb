"""Properties that are computed once, without a lock."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Instance = TypeVar("Instance")
Value = TypeVar("Value")


class cached_property(Generic[Instance, Value]):  # noqa: N801
    """A property that is computed at its first use, as `functools.cached_property`.

    The one of Python 3.11 computes it under a lock that all instances share. A process that is
    forked meanwhile inherits the lock, which nobody releases there. Without a lock, two threads may
    both compute the value.
    """

    def __init__(self, function: Callable[[Instance], Value]) -> None:
        self._function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: Instance, owner: type) -> Value: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._function(instance)
        return value
