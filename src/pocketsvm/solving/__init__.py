"""Solving: the coefficients of the vectors that the passes found, and the vectors themselves.

`solve` takes the vectors of the passes and returns the model. `problem` says what is minimised:
losses (`losses`) of rows, whose kernel values come one part at a time (`kernel`). `descent` solves
it on rows whose decision values fit into memory, with a factor of the second derivative (`factor`);
`all_rows` goes on with any number of rows, which it sees only through `readings`. `moving`
optimises the vectors themselves, as far as `effort` allows. `blas` keeps the bits of the sums.
"""
