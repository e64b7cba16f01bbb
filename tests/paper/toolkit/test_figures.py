"""Figures as SVG files."""

import xml.etree.ElementTree as ET

from pocketsvm.paper.comparison import draw_accuracy
from pocketsvm.paper.figures import breakdown
from pocketsvm.paper.models import POCKETSVM
from pocketsvm.paper.toolkit import figures


def test_pictures_follow_the_readers_scheme():
    bars = {"gss": (0.3, 0.1), "merge": (0.0, 0.0)}
    spent = {("ONE", 10): bars, ("ONE", 20): bars, ("TWO", 10): bars}
    points = [
        {"data": d, "model": m, "budget": b, "size": b, "accuracy": 90.0, "deviation": None}
        for d in ("ONE", "TWO", "THREE", "FOUR")
        for m, b in ((POCKETSVM, 50), (POCKETSVM, 100))
    ]
    for figure in (breakdown(spent), draw_accuracy(points, "size", "vectors")):
        text = figures.svg(figure).decode()
        ET.fromstring(text)
        assert "currentColor" in text
        assert figures.INK not in text.replace(figures.SVG_STYLE, "")
        assert "prefers-color-scheme: dark" in text


def test_the_same_results_give_the_same_picture():
    spent = {("ONE", 10): {"gss": (0.3, 0.1), "merge": (0.1, 0.1)}}
    first, second = (figures.svg(breakdown(spent)) for _ in range(2))
    assert first == second
