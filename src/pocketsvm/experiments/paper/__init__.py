"""The paper's experiments: its data sets, its runs, its tables and figures beside the published.

    datasets ──► protocol ──► results ──► tables, figures ──► report
    download     audit        runs.csv                        pages
                 peers

`datasets` knows the files, settings and published figures; `download` fetches the files.
`protocol` plans and makes the runs: training by every strategy, the `audit` that asks several
strategies for their decisions in one training run, and the `peers` that a user would take instead.
`results` keeps one line a run; all that is shown is made from these lines. `measure` has the clock
and names the machine.
"""
