"""The paper's tables out of the lines of the runs, each figure with the published one beside it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median, stdev
from typing import Any

from . import peers
from .audit import PRECISE
from .protocol import BASELINE, CURVE_BUDGETS, OURS, Problem, Setting
from .results import Row

__all__ = ["MANY_LINES", "Cell", "Table", "all_tables", "checks", "curves", "merging_seconds"]

FACTOR = "factor_of_sums"  # the mean of the events' factors hangs on minima that are nearly zero
MANY_LINES = 40  # from here on a table is folded up


@dataclass(frozen=True)
class Cell:
    """A figure of ours; the published one and the difference, where there is one.

    `beyond` says that the difference is larger than both deviations together.
    """

    ours: str
    published: str = ""
    difference: str = ""
    beyond: bool = False

    def __str__(self) -> str:
        if not self.published:
            return self.ours
        return f"{self.ours}\n{self.published} {self.difference}{' !' if self.beyond else ''}"


@dataclass(frozen=True)
class Table:
    """A title, headings, lines of cells, and what a reader must know to understand them."""

    name: str
    title: str
    columns: Sequence[str]
    note: str = ""
    lines: list[list[Cell]] = field(default_factory=list)

    def add(self, *cells: Cell | str) -> None:
        """Add a line; texts become cells with nothing beside them."""
        self.lines.append([Cell(cell) if isinstance(cell, str) else cell for cell in cells])

    def __bool__(self) -> bool:
        return bool(self.lines)


def compare(ours: Sequence[float], published: Any = None, form: str = ".2f") -> Cell:
    """Put the mean of our figures, with its deviation if they are several, beside the published."""
    if not ours:
        return Cell("–")
    mean, spread = fmean(ours), stdev(ours) if len(ours) > 1 else None
    text = f"{mean:{form}}" + (f" ± {spread:{form}}" if spread is not None else "")
    if published is None:
        return Cell(text)
    value, deviation = published if isinstance(published, tuple) else (published, None)
    beside = f"{value:{form}}" + (f" ± {deviation:{form}}" if deviation is not None else "")
    difference = mean - value
    known = spread is not None and deviation is not None
    return Cell(
        text, beside, f"{difference:+{form}}", known and abs(difference) > spread + deviation
    )


def select(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Return the lines that have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def figures(rows: Iterable[Row], column: str, **wanted: Any) -> list[float]:
    """Return a column's figures of the lines that have these values."""
    return [row[column] for row in select(rows, **wanted) if row.get(column) is not None]


# --- the tables -----------------------------------------------------------------------------------


def all_tables(rows: Sequence[Row], problems: Sequence[Problem], setting: Setting) -> list[Table]:
    """Return the tables for which there are results, in the order of the page."""
    tables = [
        exact(rows, problems),
        accuracy(rows, problems, setting, "paper"),
        time_saved(rows, problems, setting),
        decisions(rows, problems, setting),
        merging_time(rows, problems, setting),
        accuracy(rows, problems, setting, "defaults"),
        beside_peers(rows, problems, setting),
    ]
    return [table for table in tables if table]


def exact(rows: Sequence[Row], problems: Sequence[Problem]) -> Table:
    """Table 1: the data sets, and the exact SVM."""
    table = Table(
        "table1",
        "Table 1: data sets, settings, and the exact SVM",
        ("data set", "rows", "features", "C", "γ", "accuracy, %", "vectors", "training, s"),
        "Accuracy on the test rows of scikit-learn's SVC (LIBSVM), one thread, a cache of "
        f"{peers.CACHE_MEGABYTES:,} MB; under it what the paper prints for LIBSVM. Vectors: its "
        "support vectors.",
    )
    for problem in problems:
        found = select(rows, part="exact", data=problem.label)
        if not found:
            continue
        row, published = found[0], problem.data_set.published
        table.add(
            problem.label,
            f"{row['rows']:,}",
            f"{row['features']}",
            f"{row['C']:g}",
            f"{row['gamma']:g}",
            compare([row["accuracy"]], published.exact_accuracy),
            f"{row['vectors']:,}",
            f"{row['seconds_fit']:,.1f}",
        )
    return table


def accuracy(
    rows: Sequence[Row], problems: Sequence[Problem], setting: Setting, part: str
) -> Table:
    """Table 2: test accuracy of every strategy, in the paper's setting or with our defaults."""
    titles = {
        "paper": "Table 2: test accuracy in per cent, the paper's setting",
        "defaults": "Table 2 again: test accuracy in per cent, pocketsvm's defaults",
    }
    notes = {
        "paper": "No polishing, no bias, the paper's passes.",
        "defaults": "The same strategies, budgets, C and gamma, but with all other parameters at "
        "their defaults: polished coefficients, a bias, 20 passes.",
    }
    table = Table(
        "table2" if part == "paper" else "table2-defaults",
        titles[part],
        ("data set", "B", *setting.strategies),
        f"{notes[part]} Mean and standard deviation, runs: {setting.runs}. Under it the paper's "
        "figure and the difference, marked where it is larger than both deviations together.",
    )
    for problem in problems:
        if problem.generated:
            continue
        for budget in setting.budgets_of(problem):
            where = {"part": part, "data": problem.label, "budget": budget}
            published = problem.data_set.published.accuracy.get(budget, {})
            cells = [
                compare(figures(rows, "accuracy", **where, strategy=s), published.get(s))
                for s in setting.strategies
            ]
            if select(rows, **where):
                table.add(problem.label, str(budget), *cells)
    return table


def time_saved(rows: Sequence[Row], problems: Sequence[Problem], setting: Setting) -> Table:
    """Table 3, its first half: training time against `gss`, and the merging frequency."""
    others = [s for s in setting.strategies if s != BASELINE]
    table = Table(
        "table3-time",
        "Table 3, time: training time saved against gss, and merging frequency, in per cent",
        ("data set", "B", "gss, s", *others, "merging frequency"),
        "1 - t / t(gss), t the median over the runs of the whole time of the passes; negative: "
        "slower than gss. Merging frequency: share of the steps that merge, mean over the runs of "
        "all strategies.",
    )
    for problem, budget, where in _paper_settings(rows, problems, setting):
        published = problem.data_set.published
        saved = published.time_saved.get(budget, {})
        base = figures(rows, "seconds_total", **where, strategy=BASELINE)
        cells = [
            _saved(figures(rows, "seconds_total", **where, strategy=s), base, saved.get(s))
            for s in others
        ]
        frequency = fmean(figures(rows, "merge_frequency", **where))
        at_hand = published.merge_frequency if budget == min(problem.data_set.budgets) else None
        table.add(
            problem.label,
            str(budget),
            f"{median(base):.3f}" if base else "–",
            *cells,
            compare([100 * frequency], at_hand, ".1f"),
        )
    return table


def merging_time(rows: Sequence[Row], problems: Sequence[Problem], setting: Setting) -> Table:
    """Give the figures behind the breakdown of the merging time."""
    table = Table(
        "merging-time",
        "Merging time: seconds in A and B, and what is saved of them against gss",
        ("data set", "B", *setting.strategies),
        "A: finding h, or looking WD up; B: everything else that merging takes. Medians over the "
        "runs. The paper prints these as bars without figures.",
    )
    for (label, budget), spent in merging_seconds(rows, problems, setting).items():
        base = sum(spent.get(BASELINE, ()))
        cells = []
        for strategy in setting.strategies:
            seconds = spent.get(strategy)
            text = "–" if seconds is None else f"{seconds[0]:.3f} + {seconds[1]:.3f}"
            if seconds and base and strategy != BASELINE:
                text += f" ({_percent_saved(sum(seconds), base):+.1f} %)"
            cells.append(text)
        table.add(label, str(budget), *cells)
    return table


def merging_seconds(
    rows: Sequence[Row], problems: Sequence[Problem], setting: Setting
) -> dict[tuple[str, int], dict[str, tuple[float, float]]]:
    """Return the medians of the paper's A and B, by data set and budget, by strategy."""
    spent: dict[tuple[str, int], dict[str, tuple[float, float]]] = {}
    for problem, budget, where in _paper_settings(rows, problems, setting):
        found = spent.setdefault((problem.label, budget), {})
        for strategy in setting.strategies:
            runs = select(rows, **where, strategy=strategy)
            if runs:
                solve, rest = (median(figures(runs, f"seconds_{s}")) for s in ("solve", "rest"))
                found[strategy] = solve, rest
    return spent


def _paper_settings(
    rows: Sequence[Row], problems: Sequence[Problem], setting: Setting
) -> Iterator[tuple[Problem, int, Row]]:
    """Every problem and budget that was run in the paper's setting, and how to select its lines."""
    for problem in problems:
        for budget in setting.budgets_of(problem):
            where = {"part": "paper", "data": problem.label, "budget": budget}
            if select(rows, **where):
                yield problem, budget, where


def _saved(seconds: Sequence[float], base: Sequence[float], published: float | None) -> Cell:
    if not seconds or not base:
        return Cell("–")
    return compare([_percent_saved(median(seconds), median(base))], published, ".1f")


def _percent_saved(seconds: float, base: float) -> float:
    return 100 * (1 - seconds / base)


def beside_peers(rows: Sequence[Row], problems: Sequence[Problem], setting: Setting) -> Table:
    """Give the figures behind the curves."""
    table = Table(
        "peers",
        "Accuracy, size and time beside other models",
        ("data set", "model", "vectors", "accuracy, %", "±", "training, s", "µs a prediction"),
        "Defaults, the paper's C and gamma, one thread. Vectors: support vectors, landmarks "
        "(Nystroem) or random features (RBFSampler) that a prediction has to visit.",
    )
    for point in curves(rows, problems, setting):
        deviation = point["deviation"]
        table.add(
            point["data"],
            point["model"],
            f"{point['size']:,}",
            f"{point['accuracy']:.2f}",
            "–" if deviation is None else f"{deviation:.2f}",
            f"{point['fit']:,.3f}",
            f"{point['predict']:,.2f}",
        )
    return table


def curves(
    rows: Sequence[Row], problems: Sequence[Problem], setting: Setting
) -> list[dict[str, Any]]:
    """Return the points of the curves: our defaults, the approximations, the exact SVM."""
    if not select(rows, part="peers"):
        return []
    models = [("defaults", OURS, peers.POCKETSVM)]
    models += [("peers", name, name) for name in peers.APPROXIMATIONS]
    keys = [(*model, b) for b in setting.budgets or CURVE_BUDGETS for model in models]
    keys.append(("exact", peers.EXACT, peers.EXACT, None))
    points = []
    for problem in problems:
        for part, strategy, name, budget in keys:
            found = select(rows, part=part, data=problem.label, strategy=strategy, budget=budget)
            if found:
                runs = [peers.Run(*(row[f] for f in peers.Run._fields)) for row in found]
                point = {"data": problem.label, "model": name, "budget": budget}
                points.append(point | peers.summarise(runs))
    return points


def decisions(rows: Sequence[Row], problems: Sequence[Problem], setting: Setting) -> Table:
    """Table 3, its second half: how the strategies decide in the same state."""
    others = [s for s in setting.strategies if s != PRECISE]
    table = Table(
        "table3-decisions",
        "Table 3, decisions: agreement in per cent, weight degradation over the minimum",
        (
            "data set",
            "B",
            "passes",
            "events",
            "gss = lookup-wd",
            *(f"{s} = exact" for s in others),
            *(f"{s}, factor" for s in others),
        ),
        "At every maintenance event of one run, which follows gss-precise, all strategies are "
        "asked for their partner in the same state. Equal to gss-precise (exact), and in brackets "
        "equal or tied with it: another partner that costs the same but for rounding. Factor: the "
        "sum of the weight degradations over that of gss-precise's. The paper does not say how "
        "many passes its comparison made; both rows of a data set stand beside its figures.",
    )
    for problem in problems:
        published = problem.data_set.published
        audits = select(rows, part="audit", data=problem.label)
        for passes in sorted({row["passes"] for row in audits}):
            found = {row["strategy"]: row for row in select(audits, passes=passes)}
            some = next(iter(found.values()))
            both = figures([found.get("lookup-wd", {})], "equal_gss")
            factors = [figures([found.get(s, {})], FACTOR) for s in others]
            table.add(
                problem.label,
                str(some["budget"]),
                str(passes),
                f"{some['events']:,}",
                compare([100 * share for share in both], published.equal_decisions),
                *(_agreement(found.get(s, {})) for s in others),
                *(
                    compare(factor, published.factor.get(s), ".6f")
                    for s, factor in zip(others, factors, strict=True)
                ),
            )
    return table


def _agreement(row: Row) -> str:
    if "equal_exact" not in row:
        return "–"
    return f"{100 * row['equal_exact']:.2f} ({100 * row['equal_or_tied_exact']:.2f})"


# --- what should hold -----------------------------------------------------------------------------

MERGING_TIME_SAVED = 65.0  # per cent of gss's, by lookup-wd, at least
NOISE = 3.0  # per cent of training time
LARGEST_FACTOR = {"lookup-wd": 1.001, OURS: 1.00001}
LEAST_AGREEMENT = 0.998  # share of the events, ours, ties as well


def checks(rows: Sequence[Row], problems: Sequence[Problem], setting: Setting) -> Table:
    """Say what should hold, beside the worst that was measured."""
    table = Table("checks", "", ("what", "wanted", "measured, at worst", "where", "met"))
    merging, total = {}, {}
    for (label, budget), spent in merging_seconds(rows, problems, setting).items():
        if "lookup-wd" in spent and sum(spent.get(BASELINE, ())):
            saved = _percent_saved(sum(spent["lookup-wd"]), sum(spent[BASELINE]))
            merging[f"{label}, B = {budget}"] = saved
    for problem, budget, where in _paper_settings(rows, problems, setting):
        gss = figures(rows, "seconds_total", **where, strategy=BASELINE)
        for strategy in ("lookup-h", "lookup-wd", OURS):
            seconds = figures(rows, "seconds_total", **where, strategy=strategy)
            if seconds and gss:
                saved = _percent_saved(median(seconds), median(gss))
                total[f"{problem.label}, B = {budget}, {strategy}"] = saved
    what = "merging time that lookup-wd saves of gss's, %"
    _check(table, what, merging, "≥", MERGING_TIME_SAVED, ".1f")
    _check(table, "training time saved of gss's, %, noise apart", total, "≥", -NOISE, ".1f")
    audits = select(rows, part="audit")
    for during in ("first pass", "all passes"):
        among = [row for row in audits if (row["passes"] == 1) == (during == "first pass")]
        factor = {s: _by_data(among, s, FACTOR) for s in (BASELINE, *LARGEST_FACTOR)}
        for strategy, largest in LARGEST_FACTOR.items():
            what = f"factor of {strategy}, {during}"
            _check(table, what, factor[strategy], "≤", largest, ".6f")
        both = factor[BASELINE].keys() & factor["lookup-wd"].keys()
        below = {data: factor["lookup-wd"][data] - factor[BASELINE][data] for data in both}
        _check(table, f"factor of lookup-wd less that of gss, {during}", below, "≤", 0.0, ".6f")
        agreement = _by_data(among, OURS, "equal_or_tied_exact")
        what = f"share of events that {OURS} decides as gss-precise does, or ties, {during}"
        _check(table, what, agreement, "≥", LEAST_AGREEMENT, ".4f")
    return table


def _by_data(rows: Sequence[Row], strategy: str, column: str) -> dict[str, float]:
    """Return a column of the strategy's lines, by data set."""
    return {row["data"]: row[column] for row in select(rows, strategy=strategy) if column in row}


def _check(
    table: Table, what: str, found: Mapping[str, float], relation: str, bound: float, form: str
) -> None:
    """Add a line with the worst of the values."""
    if not found:
        return
    where = (min if relation == "≥" else max)(found, key=lambda place: found[place])
    met = found[where] >= bound if relation == "≥" else found[where] <= bound
    wanted = f"{relation} {bound:{form}}"
    table.add(what, wanted, f"{found[where]:{form}}", where, "yes" if met else "**no**")
