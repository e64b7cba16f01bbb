"""Solving finds the coefficients of the vectors that the passes found, and moves the vectors.

- `solve` takes the vectors of the passes and returns the model.
- `problem` says what is minimised: losses of rows, whose kernel values come one part at a time
  (`kernel`). `row_loss` states the contract of a loss; `class_losses`, `value_losses` and `pairs`
  have the losses, and `ramps` what several of them share.
- `descent` solves it on rows whose decision values fit into memory (`sample`), with a factor of the
  second derivative (`factor`); `exact` solves it if all rows fit into the budget.
- `all_rows` goes on with any number of rows, which it sees only through `readings`: sums over all
  rows, in memory or not. `scores` finds quantiles of the scores of all rows.
- `moving` optimises the vectors themselves, as far as `effort` allows.
- `coverage` shifts quantiles, and `path` solves for several values of C.
- `slices` and `blas` keep the bits of the sums, whatever the number of threads.
"""
