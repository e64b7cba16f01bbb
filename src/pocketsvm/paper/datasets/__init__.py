"""The rows of the experiments.

`files` knows how to find, check and read the files of a data set, `download` fetches them,
`registry` lists the paper's data sets with its settings and figures (``paper.toml``), `problems`
turns them into rows to train and test on, and `generated` makes rows of any number. `tasks` are
rows of any of these with settings and a measure of success: `tuned` reads data sets beyond the
paper, and `hard` generates rows. `study` adds the other data of the study.
"""
