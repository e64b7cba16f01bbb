"""``python -m pocketsvm.cli``."""

from . import main

main()
