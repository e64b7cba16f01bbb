"""The page: tables and pictures of all parts that were measured, with what they were run by."""

import pictures
import summary
from tables import markdown

from pocketsvm.experiments.paper import measure
from pocketsvm.experiments.paper.figures import SPAN, draw_accuracy

PACKAGES = (*measure.PACKAGES, "scikit-learn-intelex")
TITLES = {
    "peers": "Beside the peers",
    "exact": "The exact SVM, by two programs",
    "speed": "Speed",
    "growth": "How cost grows",
    "scale": "Scale",
}
QUICK_WARNING = ("**A quick run: sizes are too small to judge by.**", "")


def machine():
    """What the figures depend on, as a part's record keeps it."""
    return measure.machine() | {"versions": measure.versions(PACKAGES)}


def write(parts, folder, remark=None):
    """Write benchmarks.md and its pictures from the records of the parts."""
    tables = {table["name"]: table for part in parts.values() for table in part["tables"]}
    images = draw(tables, folder / "images")
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`, which measures everything below again. Times are the fastest of "
        "interleaved runs unless a table says otherwise: read them as ratios within a table.",
        "",
        *((remark, "") if remark else ()),
        *(QUICK_WARNING if any(part["quick"] for part in parts.values()) else ()),
        "## At a glance",
        "",
        markdown(summary.summarise(tables)),
    ]
    for name, title in TITLES.items():
        if any(table["rows"] for table in parts.get(name, {"tables": []})["tables"]):
            lines += ["", f"## {title}", "", *section(parts[name], images.get(name, []))]
    path = folder / "benchmarks.md"
    path.write_text("\n".join(lines) + "\n")
    return path


def section(part, images):
    """The pictures and tables of a part, and the run that made them."""
    lines = []
    for image, text in images:
        lines += [f"![{text}](images/{image})", "", f"{text}.", ""]
    for table in part["tables"]:
        if table["rows"]:
            lines += [f"### {table['title']}", "", markdown(table), ""]
            lines += [table["note"], ""] if table["note"] else []
    return [*lines, provenance(part)]


def provenance(part):
    m = part["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in m["versions"].items())
    return (
        f"<sub>`{part['command']}` · {part['date']}, {part['seconds']:,.0f} s · {m['cpu']}, "
        f"{m['cores']} cores, {m['instruction_set']}, {m['system']} · Python {m['python']}, "
        f"{versions}</sub>"
    )


def draw(tables, folder):
    """The pictures that the tables allow: for each part (file, description)."""
    images = {}
    if "growth" in tables:
        pictures.draw_growth(
            tables["growth"]["rows"], tables["slopes"]["rows"], folder / "growth.png"
        )
        text = "Seconds over n, B, d and non-zeros; slopes are fitted to the filled points"
        images["growth"] = [("growth.png", text)]
    rows = tables.get("peers", {}).get("rows")
    if rows:
        size, seconds = "accuracy-by-size.png", "accuracy-by-time.png"
        pictures.save(draw_accuracy(rows, "size", "vectors in the model"), folder / size)
        pictures.save(draw_accuracy(rows, "fit", "seconds to train"), folder / seconds)
        shown = f"as far as {SPAN} points below the best"
        images["peers"] = [
            (size, f"Test accuracy over model size, {shown}"),
            (seconds, f"Test accuracy over training time, {shown}"),
        ]
    return images
