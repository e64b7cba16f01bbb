"""Tasks say what y means, from checked rows to a completed model.

`base` states the contract: which parts of the rows a task needs, the targets of the passes and of
the solver, the regularisation, and what completes the model. `classification`, `regression`,
`novelty` and `ranking` have one task each. A new task is one module here, and one estimator.
"""
