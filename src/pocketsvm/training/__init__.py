"""Rows in, vectors out."""
