"""Files: from a path to rows and labels, in batches of bounded memory.

    path ──► compression ──► file ──┬─► svmlight ◄── chunks (native parser, threads)
             bytes, told by  format │
             their magic            └─► delimited, parquet ◄── arrow (pyarrow's batches)
                                              ▲
                                           columns
                                              │
                                 Batch ◄──────┘      (reader: what every format gives)

- `remote` finds the files of a URL, and opens them.
- `compression` opens a file as a stream of bytes. The first bytes tell whether it is compressed.
  Damaged and truncated files are refused here.
- `file` is the front door. A `DataFile` opens a path or standard input, tells its format, and picks
  the reader of the format. It gives one `Batch` of rows after the other, in bounded memory.
- `reader` states the contract of a reader, and keeps labels as the file spells them. A new file
  format is one module with a class that follows it, and one line in `pocketsvm/_formats.py`.
- `svmlight` reads LIBSVM text into CSR rows; `load_svmlight` is its public function. `chunks` cuts
  the text and parses the chunks side by side.
- `delimited` (CSV, TSV) and `parquet` read tables with pyarrow; `arrow` is what they share, and
  `tables` reads the fragments of a ``pyarrow.dataset.Dataset``, and streams of Arrow.
- `columns` finds features and label among the columns of a table, by name or by position.
- `memory` compares what a file or a fit will allocate with the memory there is.
- `errors` has the one exception for what is wrong with a file. It carries hints about `Options`,
  which the command line spells as its flags.

`pocketsvm.rows` makes data sets of files, and checks their rows.
"""

from .columns import LABEL_NAMES, Layout, Options
from .errors import DataError, Hint
from .file import FORMATS, DataFile
from .reader import LARGEST_EXACT, Batch, Labels

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
]
