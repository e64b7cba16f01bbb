"""Training makes passes of stochastic gradient descent over the rows, which find the vectors.

`settings` says how a model is trained, with `regularisation` for lambda and `strategies` for the
names of the maintenance strategies. `targets` says what rows are trained on; every task has its
own. `passes` makes the passes by the native core, and `state` holds what they found: the vectors,
and all that further passes need to continue.
"""
