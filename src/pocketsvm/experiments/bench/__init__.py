"""The benchmarks: speed, growth of cost, other models, the exact SVM, scale, and the solver.

Each part is a module whose `measure` returns tables. `run` stores them and shows them on a page,
with the project's targets from `targets`. `child` holds what is measured in a process of its own.
"""
