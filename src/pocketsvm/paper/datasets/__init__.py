"""The rows of the paper's experiments.

`files` knows how to find, check and read the files of a data set, `download` fetches them,
`registry` lists the paper's data sets with its settings and figures (``paper.toml``), `problems`
turns them into rows to train and test on, and `generated` makes rows in the place of SUSY.
"""
