"""Tests of `pocketsvm.rows`, one file per module."""
