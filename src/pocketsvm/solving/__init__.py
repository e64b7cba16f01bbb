"""Solving finds the coefficients of the vectors that the passes found, and moves the vectors.

- `solve` takes the vectors of the passes and returns the model.
- `problem` says what is minimised: losses of rows, whose kernel values a backend computes
  (`pocketsvm.backends`). `row_loss` states the contract of a loss; `class_losses`, `value_losses`
  and `pairs` have the losses, whose formulas are native.
- `newton` minimises it on rows whose decision values fit into memory (`sample`), with the Hessian
  of the rows whose loss is curved; `exact` does so if all rows fit into the budget.
- `all_rows` does so for any number of rows, which it sees only through `scans`: sums over all
  rows, in memory or not. `scores` finds quantiles of the scores of all rows.
- `positions` optimises the vectors themselves.
- `coverage` shifts quantiles such that they cover the share of rows that was asked for.
- `feature_scales` learns how much each feature counts, before the fit.
- `blas` keeps the bits of the sums, whatever the number of threads.
"""
