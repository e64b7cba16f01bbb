"""The first error of a mixed table names all options that the table needs."""

import datetime as dt
import io
import shlex
import types

import numpy as np
import pandas as pd
import pytest

from .files import FAST


def mixed_table():
    """Return a table with numbers, texts, missing values, dates, row names and classes."""
    random = np.random.default_rng(0)
    n = 300
    days = [dt.date(2024, 1, 1) + dt.timedelta(k) for k in range(n)]
    return pd.DataFrame(
        {
            "height": random.normal(15.0, 5.0, n).round(2),
            "soil": random.choice(["clay", "sand", "?"], n),
            "owner": [f"owner {k}" for k in range(n)],
            "day": [day.isoformat() for day in days],
            "sale": [day.strftime("%d.%m.%Y") for day in days],
            "age": random.choice([12.0, np.nan, 50.0], n),
            "tree": random.choice(["oak", "elm"], n),
        }
    )


NEEDED = """\
The table has:
- text in column 'soil': --one-hot soil
- different texts in nearly all rows in column 'owner': --drop owner
- missing values in columns 'soil', 'age': --impute mean
- dates in column 'day': --dates
- dates not written as 2024-01-31 in column 'sale': --drop sale
- the label in the last column, 'tree', unless you name another: --label tree
"""


def suggested(err):
    """Return the arguments of the command that a message suggests."""
    command = err.splitlines()[-1].removeprefix("Try: pocketsvm ")
    return shlex.split(command)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("more", [[], ["--memory", "0"], ["--memory", "1GB"]])
def test_the_first_error_of_a_mixed_table_names_all_options(call, succeed, form, more):
    getattr(mixed_table(), {"csv": "to_csv", "parquet": "to_parquet"}[form])(
        f"rows.{form}", index=False
    )
    arguments = ["train", f"rows.{form}", "m.psvm", *FAST, *more]
    code, out, err = call(*arguments)
    assert (code, out) == (1, "")
    assert NEEDED in err
    assert suggested(err)[: len(arguments)] == arguments
    succeed(*suggested(err))


def test_only_missing_options_are_named(call, succeed):
    mixed_table().to_csv("rows.csv", index=False)
    given = ["--one-hot", "text", "--drop", "sale", "--label", "tree", "--dates"]
    code, _, err = call("train", "rows.csv", "m.psvm", *FAST, *given)
    assert code == 1
    assert "- missing values in columns 'soil', 'age': --impute mean\nTry: " in err
    succeed(*suggested(err))


def test_several_columns_of_text_are_encoded_together(call, succeed):
    table = mixed_table()[["height", "soil", "tree"]].assign(label=np.arange(300) % 2)
    table.to_csv("rows.csv", index=False)
    _, _, err = call("train", "rows.csv", "m.psvm", *FAST)
    assert "- text in columns 'soil', 'tree': --one-hot text\n" in err
    assert "--label" not in err
    succeed(*suggested(err))


def test_tune_names_all_options(call):
    mixed_table().to_csv("rows.csv", index=False)
    _, _, err = call("tune", "rows.csv", "m.psvm", *FAST)
    assert NEEDED in err
    assert suggested(err)[0] == "tune"


def test_an_unclear_label_is_one_of_the_needs(call):
    table = mixed_table().rename(columns={"tree": "label", "age": "target"})
    table.to_csv("rows.csv", index=False)
    _, _, err = call("train", "rows.csv", "m.psvm")
    assert "several columns that could be the label: 'target', 'label'." in err
    assert "- no column that must be the label: --label COLUMN\n" in err
    assert "- text in column 'soil': --one-hot text\n" in err
    assert "- dates in column 'day': --dates\n" in err


def test_dates_as_the_last_column_are_no_label(call):
    mixed_table()[["height", "age", "day"]].to_csv("rows.csv", index=False)
    _, _, err = call("train", "rows.csv", "m.psvm")
    assert "- no column that must be the label: --label COLUMN\n" in err
    assert "- missing values in column 'age': --impute mean\n" in err
    assert "- dates in column 'day': --dates\n" in err


def test_numbers_to_predict_need_regression(call, succeed):
    table = mixed_table()[["soil", "height"]]
    table.to_csv("rows.csv", index=False)
    _, _, err = call("train", "rows.csv", "m.psvm", *FAST)
    assert "- numbers with fractions as labels: --regression\n" in err
    succeed(*suggested(err))


@pytest.mark.parametrize("index", [False, True])
def test_columns_without_names(call, succeed, index):
    """Without a header, columns go by number; the index that pandas writes has no name."""
    mixed_table().to_csv("rows.csv", index=index, header=index)
    _, _, err = call("train", "rows.csv", "m.psvm", *FAST)
    wanted = "- no name in column '1': --drop 1\n"
    if not index:
        wanted = "- dates without a header in columns '4', '5': --drop 4 --drop 5\n"
    assert wanted in err
    succeed(*suggested(err))


def test_standard_input_keeps_its_name(call, monkeypatch):
    content = io.BytesIO(mixed_table().to_csv(index=False).encode())
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=content))
    _, _, err = call("train", "-", "m.psvm", "-q")
    assert err.startswith("pocketsvm: standard input, row 2, column 'soil'")
    assert suggested(err)[:4] == ["train", "-", "m.psvm", "-q"]


def test_another_problem_is_named_too(call):
    table = mixed_table()[["height", "age", "tree"]].astype(object)
    table.loc[200, "height"] = "tall"
    table.to_csv("rows.csv", index=False)
    _, _, err = call("train", "rows.csv", "m.psvm")
    assert "row 202, column 'height': 'tall' is not a number." in err
    assert "- missing values in column 'age': --impute mean\n" in err


def test_a_missing_label_hides_no_other_need(call):
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "color": random.choice(["red", "blue"], 60),
            "a": random.choice([1.0, np.nan, 3.0], 60),
            "y": ["", *random.choice(["0", "1"], 59)],
        }
    )
    table.to_csv("rows.csv", index=False)
    code, _, err = call("train", "rows.csv", "m.psvm", *FAST)
    assert code == 1
    assert "- text in column 'color': --one-hot color" in err
    assert "- missing values in column 'a': --impute mean" in err
    assert "- and another problem:" in err
    assert err.splitlines()[-1].startswith("After mending that, try: pocketsvm train")
