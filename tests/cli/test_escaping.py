"""Control characters in model files and data files never reach a terminal."""

import json

import numpy as np
import pandas as pd
import pytest
from model_files import closed, opened, problem, small, value

from pocketsvm import save_model
from pocketsvm.cli.console import Reporter, print_json, show
from pocketsvm.cli.escaping import escaped, escaped_json, escaped_lines

# The title of the window, colours in 7 and 8 bits, a bell, a line, the direction, a surrogate.
HOSTILE = ["a\x1b]0;title\x07", "b\x9b31m\r\n", "c\u202e\ud800\x7f\t"]
SHOWN = [r"a\x1b]0;title\x07", r"b\x9b31m\r\n", r"c\u202e\ud800\x7f\t"]


def assert_safe(text):
    assert escaped_lines(text) == text


@pytest.fixture
def hostile(folder):
    """hostile.psvm with such labels and names, and rows.csv; returns the predicted labels."""
    X, y = problem(3)
    clf = small(class_weight=dict(zip(HOSTILE, (1.0, 2.0, 3.0), strict=True)))
    clf.fit(X, np.array(HOSTILE, dtype=object)[y])
    predicted = clf.predict(X).tolist()
    clf.feature_names_in_ = np.array([f"{text} of a feature" for text in HOSTILE], dtype=object)
    save_model(clf, "hostile.psvm", extra={"label": "\x1b[2J"})
    pd.DataFrame(X).assign(label=y).to_csv("rows.csv", index=False, header=False)
    return predicted


def test_inspect_escapes(succeed, hostile):
    shown = succeed("inspect", "hostile.psvm")
    assert_safe(shown)
    for text in (SHOWN[0], "\\x1b[2J", f"{SHOWN[0]} of a feature", f"{SHOWN[0]} = 1"):
        assert text in shown
    found = succeed("inspect", "hostile.psvm", "--json")
    assert_safe(found)
    assert json.loads(found)["classes"] == HOSTILE
    assert json.loads(found)["label_column"] == "\x1b[2J"


def test_predict_escapes(succeed, folder, hostile):
    """Labels without control characters stay as they are, and each row is one line."""
    arguments = ("predict", "hostile.psvm", "rows.csv", "--no-header", "--label", "4")
    expected = [escaped(label) for label in hostile]
    assert set(expected) == set(SHOWN)
    assert succeed(*arguments).split("\n") == [*expected, ""]
    succeed(*arguments, "-o", "out.txt")
    assert (folder / "out.txt").read_text().split("\n") == [*expected, ""]
    found = succeed(*arguments, "--json")
    assert_safe(found)
    assert [row["label"] for row in json.loads(found)] == hostile


def test_evaluate_escapes(call, succeed, folder, hostile):
    arguments = ("evaluate", "hostile.psvm", "rows.csv", "--no-header", "--label", "4")
    code, out, err = call(*arguments)
    assert (code, out) == (1, "")
    assert_safe(err)
    assert f"it knows {', '.join(SHOWN)}." in err
    X, y = problem(3)
    save_model(small().fit(X, y), "spelled.psvm", extra={"spellings": HOSTILE})
    shown = succeed("evaluate", "spelled.psvm", *arguments[2:])
    assert_safe(shown)
    assert all(shown.count(label) == 3 for label in SHOWN)
    assert_safe(succeed("evaluate", "spelled.psvm", *arguments[2:], "--json"))


def test_errors_about_forged_files_escape(call, folder, hostile):
    header, data = opened(folder / "hostile.psvm")
    for where in (("estimator",), ("parameters", "\x1b[2J"), ("parameters", "loss")):
        value("training", *where, to="\x1b[2J")(header, data)
        (folder / "forged.psvm").write_bytes(closed(header, data))
        code, _, err = call("inspect", "forged.psvm")
        assert code == 1
        assert_safe(err)


def test_one_place_escapes_what_commands_say(capsys):
    show("\x1b[2J\u2028")
    print_json({"\x9b": ["\x1b", "ä\n"]})
    Reporter(quiet=False).say("\x1b[2J")
    out, err = capsys.readouterr()
    assert out == '\\x1b[2J\\u2028\n{\n  "\\u009b": [\n    "\\u001b",\n    "ä\\n"\n  ]\n}\n'
    assert err == "\\x1b[2J\n"


def test_other_characters_stay():
    for text in ("größe", "日本", "naïve café", "👩‍🔬", "\xa0", "a\\b", "שלום"):
        assert escaped(text) == escaped_json(text) == text
