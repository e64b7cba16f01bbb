"""Experiments with the product: the paper's reproduction, the benchmarks, the study of defaults.

    datasets ──► paper ─┐
    models   ──► bench ─┼──► toolkit: results, tables, figures, pages
    passes   ──► study ─┘

`datasets` finds, downloads and generates rows. `models` makes and measures pocketsvm and its
alternatives, `comparison` shows them side by side, and `passes` drives the native trainer directly.
`toolkit` is shared by all experiments. Experiments import the product; of the product only the
command line imports them, and only when one of their commands runs.
"""
