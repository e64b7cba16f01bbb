"""Measurements of pocketsvm, which are not part of the package."""
