"""Constants of the method."""

from pocketsvm.training.settings import Choices


def test_copies_move_where_the_whole_would():
    whole, copy = Choices(), Choices().for_share(0.1)
    assert copy.most_loss / 50 == whole.most_loss / 500
    assert copy.moves // 50 == whole.moves // 500
