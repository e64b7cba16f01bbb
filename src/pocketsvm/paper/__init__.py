"""``pocketsvm reproduce``: the paper's experiments, its tables and figures beside the published.

    datasets ──► protocol ──► runs.csv ──► tables, figures ──► report
                 audit

`datasets` finds, downloads and reads the paper's data. `protocol` plans and makes the runs:
training with every strategy, the `audit` that asks several strategies for their decisions in one
training run (`passes` drives the native trainer for it), and other `models`. Every run is one line
of ``runs.csv``. `tables`, `figures` and `comparison` show these lines, and `report` is the page
made of them, by means of `toolkit`. Of the package, only the command line imports this.
"""
