"""Vectors in, model out."""
