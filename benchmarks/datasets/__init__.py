"""How the rows of the benchmarks are read or generated; `benchmarks.data_sets` lists them.

`paper` finds the paper's data sets, and `tuned` others with settings. `tasks` are rows with
settings and a measure of success; `hard` generates some. `functions` are smooth targets, `cases`
are difficult in one respect each, and `generated` has rows of any number. `novelties` and
`rankings` are rows of these two tasks.
"""
