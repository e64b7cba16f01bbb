"""The paper's experiments: its tables and figures beside the published ones.

    protocol ──► runs.csv ──► tables, figures ──► report
    audit

`protocol` plans and makes the runs: training with every strategy, the `audit` that asks several
strategies for their decisions in one training run, and other models. Every run is one line of
``runs.csv``. `tables` and `figures` show these lines, and `report` is the page made of them.
"""
