"""Properties that are computed once."""

import threading

from children import LONGEST

from pocketsvm._cached import cached_property


class Owner:
    def __init__(self, function):
        self.function = function

    @cached_property
    def value(self):
        """What the function returns."""
        return self.function()


def test_a_value_is_computed_once():
    calls = []
    owner = Owner(lambda: calls.append(0) or 7)
    assert [owner.value, owner.value] == [7, 7]
    assert len(calls) == 1
    assert Owner.value.__doc__ == "What the function returns."


def test_threads_do_not_wait_for_each_other():
    # The child of a fork would wait for a thread that does not exist there.
    entered, over, found = threading.Event(), threading.Event(), []

    def wait():
        entered.set()
        over.wait(LONGEST)

    slow = threading.Thread(target=lambda: Owner(wait).value)
    other = threading.Thread(target=lambda: found.append(Owner(lambda: 7).value))
    slow.start()
    assert entered.wait(LONGEST)
    other.start()
    other.join(5)
    finished = list(found)
    over.set()
    slow.join()
    other.join()
    assert finished == [7]
