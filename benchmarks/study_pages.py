"""The pages of the study, and ``make study``, which makes the missing runs and writes them."""

import argparse
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pocketsvm.paper.toolkit.measure import written_with
from pocketsvm.paper.toolkit.pages import Block, read_paragraphs, write_markdown
from pocketsvm.paper.toolkit.results import Results, program, select
from pocketsvm.paper.toolkit.tables import Columns, Table, headings

from . import study
from .data_sets import STUDY_ROWS
from .datasets.cases import TEST_ROWS

TEXT = Path(__file__).with_name("study.md")  # what the page says beside its tables
DEFAULTS = "the default values"
CASE_COLUMNS: Columns = headings(
    "data",
    "last iterate",
    "polished",
    "difference",
    "last class",
    "predicted by last iterate",
    "predicted by polished",
)


def pages(results: Results) -> dict[str, list[Block]]:
    """Return the blocks of all pages by their names, from the results of this build."""
    title, *text = read_paragraphs(
        TEXT, STUDY_ROWS=STUDY_ROWS, TEST_ROWS=TEST_ROWS, CASE_BUDGET=study.CASE_BUDGET
    )
    cases = text.index("## Generated data, polished and not")
    written = f"Written by `make study` {written_with()}. It measures everything again."
    done = {name for name, some in study.COMPARISONS.items() if _is_measured(some, results)}
    if len(done) < len(study.COMPARISONS):
        written += f" **{len(done)} of {len(study.COMPARISONS)} comparisons are measured.**"
    first = [title, written, *text[:cases], *_tables(study.WHOLE, done, results)]
    return {
        "study": [*first, *text[cases:], _case_table(results)],
        "study-solver": [
            "# Study of passes and solver",
            written,
            *_tables(study.HEADINGS[:2], done, results),
        ],
        "study-scales": [
            "# Study of feature scales and search",
            written,
            *_tables(study.HEADINGS[2:], done, results),
        ],
    }


def _tables(names: Sequence[str], done: Container[str], results: Results) -> Iterator[Block]:
    """Yield the tables of groups, without the comparisons that are not measured."""
    for heading in names:
        comparisons = groups().get(heading, {})
        if shown := {name: some for name, some in comparisons.items() if name in done}:
            yield f"## {heading}"
            yield from (_comparison(shown, which, results) for which in (0, 1))


def groups() -> dict[str, dict[str, dict[str, study.Changes]]]:
    """Return the comparisons, by their names, that share a pair of tables, by their headings."""
    names = {
        name: {name: study.COMPARISONS[name]} for name in study.WHOLE if name in study.COMPARISONS
    }
    for heading, (varied, _) in zip(study.HEADINGS, study.ALL_VARIED, strict=True):
        titles = [f"`{name}`" for name in varied if f"`{name}`" in study.COMPARISONS]
        names[heading] = {title: study.COMPARISONS[title] for title in titles}
    return names


def _is_measured(variants: Mapping[str, study.Changes], results: Results) -> bool:
    """Whether all variants are measured on the data sets to which they apply."""
    return all(
        len(_scores(results, "score", data.label, budget, changes))
        for changes in variants.values()
        for data in study.all_data()
        if study._applies(changes, data)
        for budget in data.budgets
    )


def _comparison(
    comparisons: Mapping[str, Mapping[str, study.Changes]], which: int, results: Results
) -> Table:
    """Return the table of some comparisons for the smaller (0) or larger (1) budgets."""
    every = [changes for variants in comparisons.values() for changes in variants.values()]
    default = {
        (data.label, data.budgets[which]): scores
        for data in study.all_data()
        if all(study._applies(changes, data) for changes in every)
        and len(scores := _scores(results, "score", data.label, data.budgets[which], {}))
    }
    titles = [f"{label}, {budget}" for label, budget in default]
    table = Table("comparison", "", headings("data, B", *titles))
    table.add("the default", *(f"{scores.mean():.2f}" for scores in default.values()))
    for label, changes in _labelled(comparisons).items():
        ours = [_scores(results, "score", *column, changes) for column in default]
        pairs = zip(ours, default.values(), strict=True)
        table.add(label, *(_difference(scores - base) for scores, base in pairs))
    return table


def _labelled(comparisons: Mapping[str, Mapping[str, study.Changes]]) -> dict[str, study.Changes]:
    """Return the variants but the default, by what the table calls them."""
    found: dict[str, study.Changes] = {}
    for title, variants in comparisons.items():
        usual = next(iter(variants))  # of a choice: its default value
        for name, changes in variants.items():
            if title in study.WHOLE:
                found[name] = changes
            elif name == usual:
                found[DEFAULTS] = changes
            else:
                found[f"{title}: {name} instead of {usual}"] = changes
    return {label: changes for label, changes in found.items() if changes}


def _case_table(results: Results) -> Table:
    table = Table("cases", "", CASE_COLUMNS)
    for case in study.all_cases():
        scores = [_scores(results, column, case) for column in study.CASE_SCORES]
        if all(map(len, scores)):
            last, polished, *shares = scores
            table.add(
                case,
                *(f"{scores.mean():.2f} ± {scores.std(ddof=1):.2f}" for scores in (last, polished)),
                _difference(polished - last),
                *(f"{share.mean():.2f}" for share in shares),
            )
    return table


def _scores(
    results: Results,
    column: str,
    data: str,
    budget: int | None = None,
    changes: study.Changes | None = None,
) -> NDArray[np.float64]:
    """Return the scores for all seeds, or nothing if some are missing."""
    rows = results.of(study._line(data, seed, budget, changes) for seed in study.SEEDS)
    scores = [row[column] for row in rows if row is not None]
    return np.array(scores if len(scores) == len(study.SEEDS) else [], dtype=np.float64)


def _difference(values: NDArray[np.float64]) -> str:
    """Return mean and standard error."""
    return f"{values.mean():+.2f} ± {values.std(ddof=1) / len(values) ** 0.5:.2f}"


def main() -> None:
    """Run the study, or only write its page."""
    parser = argparse.ArgumentParser(description="Compare the settings of training.")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--only", default="", metavar="NAME,…", help="only these comparisons")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--out", type=Path, default=Path("build/study"), help="folder of results")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder of the page")
    options = parser.parse_args()
    results = Results(options.out / "results.csv", study.COLUMNS, tuple(study.KEY))
    if not options.page:
        only = [name.strip("` ") for name in options.only.split(",") if name]
        if unknown := set(only) - {title.strip("`") for title in study.COMPARISONS}:
            parser.error(
                f"there is no comparison {min(unknown)!r}; there are {list(study.COMPARISONS)}"
            )
        study.measure(results, options.jobs, only)
    if not select(results.rows, program=program()):
        parser.error("there are no results of this build: run the study without --page")
    for name, found in pages(results).items():
        print(f"Written: {write_markdown(found, options.docs, name)}")


if __name__ == "__main__":
    main()
