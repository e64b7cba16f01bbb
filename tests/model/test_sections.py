"""Sections: unknown, missing and damaged ones."""

import numpy as np
import pytest
from model_files import (
    assert_equal,
    closed,
    opened,
    place,
    refused,
    refused_after,
    remove,
    value,
)

from pocketsvm import load_model
from pocketsvm.model import read_model
from pocketsvm.model.sections import SECTIONS


def with_section(saved, *, required):
    """Return a file with a section of the future, which has an array."""
    header, data = opened(saved)
    header["sections"]["probabilities"] = {"required": required, "slope": 2.5}
    place(header, data, "probabilities.slopes", np.arange(3.0))
    return closed(header, data)


def test_an_unknown_required_section_is_refused_by_its_name(path, saved):
    reason = "needs the section 'probabilities', which this pocketsvm does not know. A newer"
    refused(path, with_section(saved, required=True), reason)


def test_an_unknown_optional_section_is_ignored(path, saved):
    path.write_bytes(with_section(saved, required=False))
    assert_equal(vars(load_model(path)), vars(load_model(saved)))
    assert_equal(read_model(path)[1], read_model(saved)[1])


def test_the_arrays_of_an_ignored_section_are_not_checked_as_numbers_of_the_model(path, saved):
    header, data = opened(saved)
    header["sections"]["probabilities"] = {"required": False}
    place(header, data, "probabilities.slopes", np.array([np.nan]))
    path.write_bytes(closed(header, data))
    load_model(path)


def test_every_section_says_whether_it_is_required(saved):
    sections = opened(saved)[0]["sections"]
    found = {name: section["required"] for name, section in sections.items()}
    assert found.items() <= SECTIONS.items()
    others = {"calibration", "feature_scales", "integers", "preparation", "reservoir", "task"}
    assert SECTIONS.keys() - found.keys() == others


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda header, data: header.pop("sections"), "lacks 'sections'"),
        (lambda header, data: header["sections"].pop("decision"), "lacks 'decision'"),
        (lambda header, data: header["sections"].pop("training"), "lacks 'training'"),
        (lambda header, data: header["sections"].pop("classes"), "'classes.bytes' is uint8"),
        (lambda header, data: header["sections"].pop("feature_names"), "'feature_names.bytes'"),
        (lambda header, data: header["sections"]["training"].pop("required"), "lacks 'required'"),
        (value("training", "required", to=1), "'required' is '1' in its header, not bool"),
        (value("decision", to=[]), "not dict"),
    ],
)
def test_missing_and_damaged_sections_are_refused(path, saved, change, reason):
    refused_after(change, saved, path, reason)


@pytest.mark.parametrize(
    "name", ["decision.vectors", "decision.intercept", "training.steps", "classes.ends"]
)
def test_missing_arrays_are_refused(path, saved, name):
    header, data = opened(saved)
    remove(header, data, name)
    refused(path, closed(header, data), f"lacks the array '{name}'|'{name}' is none")


@pytest.mark.parametrize("name", ["unknown", "decision.unknown", "preparation.0.mean"])
def test_arrays_of_no_section_are_refused(path, saved, name):
    header, data = opened(saved)
    place(header, data, name, np.zeros(1))
    refused(path, closed(header, data), f"'{name}' is float64 of shape .*, but none is expected")
