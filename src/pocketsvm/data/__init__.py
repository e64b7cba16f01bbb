"""Rows, labels and the files they come from.

Arrays of a user and data files meet in this package; what leaves it has been checked.

    path ──► compression ──► file ──┬─► svmlight ◄── chunks (native parser, threads)
             bytes, told by  format │
             their magic            └─► delimited, parquet ◄── arrow (pyarrow's batches)
                                              ▲
                                           columns
                                              │
                           Table, Batch ◄─────┘      (reader: what every format gives)

Files:

- `compression` opens a file as a stream of bytes. The first bytes tell whether it is compressed.
  Damaged and truncated files are refused here.
- `file` is the front door. A `DataFile` opens a path or standard input, tells its format, and picks
  the reader of the format. It gives a whole `Table`, or one `Batch` after the other in bounded
  memory.
- `reader` states the contract of a reader, and keeps labels as the file spells them. A new file
  format is one module with a class that follows it, and one line in `file`.
- `svmlight` reads LIBSVM text into CSR rows; `load_svmlight` is its public function. `chunks` cuts
  the text and parses the chunks side by side.
- `delimited` (CSV, TSV) and `parquet` read tables with pyarrow; `arrow` is what they share.
- `columns` finds features and label among the columns of a table, by name or by position.
- `memory` compares what a file or a fit will allocate with the memory there is.
- `errors` has the one exception for what is wrong with a file. It carries hints about `Options`,
  which the command line spells as its flags.

Arrays:

- `rows` checks the X of a user, with `sparse` for the structure of sparse matrices; `precision`
  decides between float32 and float64, and the value of gamma; `scales` warns about columns of very
  different scales, about large offsets and about outliers.
- `targets` checks y, classes and weights.
"""

from .columns import LABEL_NAMES, Layout, Options
from .errors import DataError, Hint
from .file import FORMATS, DataFile
from .reader import LARGEST_EXACT, Batch, Labels, Table, meaning, number

__all__ = [
    "FORMATS",
    "LABEL_NAMES",
    "LARGEST_EXACT",
    "Batch",
    "DataError",
    "DataFile",
    "Hint",
    "Labels",
    "Layout",
    "Options",
    "Table",
    "meaning",
    "number",
]
