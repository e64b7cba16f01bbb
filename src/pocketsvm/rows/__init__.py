"""Rows: where they are, what a fit learns from all of them, and which ones it has at hand.

    arrays ───────────────────────► memory ──┐
    files, batches() ─► dataset, npy ────────┼─► source ──► survey ──► checked ─► passes, solver
    partitions (`pocketsvm.dask`) ───────────┘   chunks    AtHand       Rows
                                                 of rows

Where rows are:

- `source` states the contract of a source, which applies a reading to every chunk and merges the
  results. A `Scanner` refuses rows that change between two scans. A new source is one class.
- `chunk` has the raw rows, targets, weights and queries of one piece, and the place that errors
  name.
- `memory` is the source for arrays. `dataset` is that for files, for tables and queries
  of other libraries, and for any object with ``batches()``; `npy` is that for a NumPy file.
  `opening` has `open_dataset`.
- `cache` keeps parsed text, and `ahead` reads the next batch in time.
- `runs` cuts chunks at the ends of queries.

What is learnt in the first scan:

- `survey` makes this scan, and returns all rows or a sample of them. `summary` holds what is
  known about all rows.
- `sampling` draws rows in memory, `drawing` the same rows from chunks, and `query_drawing` whole
  queries. `stream` keeps a sample of a stream.
- `preparation` imputes, encodes and scales. `feature_scales` multiplies the features after it.

Checks, the same for all sources:

- `checked` checks X, with `sparse` for the structure of sparse matrices. `columns` finds columns by
  name, `labels` checks classes, `weights` weights, and `queries` queries.
- `precision` decides between float32 and float64, and the value of gamma.
- `scales` warns about columns of very different scales, about large offsets and about outliers.
"""
