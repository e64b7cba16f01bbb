"""Tests of `pocketsvm.files`, one file per module."""
