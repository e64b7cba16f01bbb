"""Parquet: columns of the wrong type and missing values are named."""

import numpy as np
import pytest

from .samples import parquet_bytes, read


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["u"], "y": [1]}, r"column 'a': a feature must be a number, got string.*label='a'"),
        ({"a": [1], "y": [[1]]}, "column 'y': a label must be text or a number"),
        ({"a": [1.0, None], "y": [1, 2]}, "row 2, column 'a': the value is missing"),
        ({"a": [1.0, 2.0], "y": [1, None]}, "row 2, column 'y': the value is missing"),
        ({"a": [1.0, np.nan], "y": [1, 2]}, "row 2, column 'a': nan is not a finite"),
        ({"y": [1]}, "no columns beside"),
    ],
)
def test_an_error_names_the_column(write, columns, message):
    with pytest.raises(ValueError, match=message):
        read(write(parquet_bytes(columns)))
