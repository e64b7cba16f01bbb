"""Solving: the coefficients of the vectors that the passes found, and the vectors themselves.

`solve` takes the vectors of the passes and returns the model. It solves for the coefficients by
Newton's method (`newton`, over the kernel values in `kernel`), and then moves the vectors
(`moving`). `losses` says what is minimised, `sample` on which rows, and `blas` keeps the bits of
the sums.
"""
