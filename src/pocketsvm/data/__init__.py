"""Rows, labels and the files they come from."""
