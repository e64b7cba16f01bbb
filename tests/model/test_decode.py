"""Decoding: forged labels, parameters and profiles are refused."""

import pytest
from model_files import closed, numbers, opened, refused_after, value

from pocketsvm import load_model
from pocketsvm.profile import Profile

FORGERIES = {
    "narrow labels": (value("classes", "width", to=0), "longer than 0 characters"),
    "negative width": (value("classes", "width", to=-5), "longer than -5 characters"),
    "unsorted labels": (numbers("classes.bytes", 1, 120, "u1"), "not sorted, or not unique"),
    "no UTF-8": (numbers("classes.bytes", 1, 255, "u1"), "can't decode"),
    "ends": (numbers("classes.ends", 0, -1, "i8"), "do not fit the bytes"),
    "last end": (numbers("feature_names.ends", 2, 2**60, "i8"), "do not fit the bytes"),
    "profile": (value("training", "profile", "steps", to="many"), "'steps' is 'many'"),
    "profile infinite": (
        value("training", "profile", "seconds_total", to=10**400),
        "too large",
    ),
    "profile of huge integers": (
        value("training", "profile", "steps", to=10**400),
        "'steps' is 10.* in its profile, which is out of range",
    ),
    "profile beyond int64": (value("training", "profile", "merges", to=2**63), "'merges' is 9223"),
    "profile below int64": (
        value("training", "profile", "moves", to=-(2**63) - 1),
        "'moves' is -9",
    ),
    "negative profile": (value("training", "profile", "moves", to=-1), "'moves' is -1 in its prof"),
    "parameter a list": (
        value("training", "parameters", "gamma", to=[1]),
        "not a value of a parameter",
    ),
    "weights": (
        value("training", "parameters", "class_weight", to={"pairs": [["x"]]}),
        "made of pairs",
    ),
    "weight of a list": (
        value("training", "parameters", "class_weight", to={"pairs": [[[], 1]]}),
        "not a value",
    ),
    "extra": (value("extra", "values", to=[]), "'values' is"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_no_model_has_is_refused(path, saved, name):
    change, reason = FORGERIES[name]
    refused_after(change, saved, path, reason)


def test_profiles_of_other_versions_are_read(path, saved):
    header, data = opened(saved)
    header["sections"]["training"]["profile"] = {"steps": 5, "seconds_of_tomorrow": 1.5}
    path.write_bytes(closed(header, data))
    assert load_model(path).profile_ == Profile(steps=5)
