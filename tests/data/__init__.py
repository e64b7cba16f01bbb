"""Tests of `pocketsvm.data`, one file per module."""
