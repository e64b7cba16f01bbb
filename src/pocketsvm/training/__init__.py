"""Training: passes of stochastic gradient descent over the rows find the support vectors.

`settings` says how a model is trained, `passes` makes the passes by the native core, and `state`
holds what they found: the vectors, and all that further passes need to continue.
"""
