"""Benchmarks and the study of the settings; ``make bench`` and ``make study`` run them.

    data_sets ──► parts: speed, growth, solver … ──► results/*.json ──► page
              └─► study

`data_sets` lists all data sets. Each part is a module whose `measure` returns tables; `parts` lists
them, and `record` is what is stored of one. `page` shows the records, with the project's targets
from `targets`. `child` holds what is measured in a process of its own.
"""
