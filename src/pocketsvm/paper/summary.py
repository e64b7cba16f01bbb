"""What of the paper reproduces, in one table and two paragraphs, from the lines of the runs."""

from collections.abc import Iterator, Sequence
from statistics import fmean, median, stdev
from typing import NamedTuple

from .datasets.problems import Problem
from .protocol import BASELINE, Setting
from .tables import FACTOR, merging_seconds
from .toolkit.pages import Block
from .toolkit.results import Row, figures, select
from .toolkit.tables import Table, headings

LOOKUPS = ("lookup-h", "lookup-wd")
NEAR_ROWS = 0.01  # a training set whose size differs by more has other rows than the paper's
YES, PARTLY, NO, NOTHING = "yes", "**partly**", "**no**", "nothing to measure"
MARK = "†"
MARK_NOTE = f"{MARK} other rows than the paper's."
SAME_ACCURACY = 1.0  # points
SAME_FREQUENCY = 3.0  # points
SAME_AGREEMENT = 5.0  # points below the paper's


def has_other_rows(problem: Problem) -> bool:
    """Whether the training rows are not those of the paper, up to the split."""
    published = problem.data_set.published.n_rows
    return problem.generated or abs(problem.n_rows / published - 1) > NEAR_ROWS


def marked(tables: Sequence[Table], problems: Sequence[Problem]) -> list[Table]:
    """Mark the lines of data sets whose rows are not the paper's."""
    names = {problem.label for problem in problems if has_other_rows(problem)}
    for table in tables:
        lines = [row for row in table.rows if row.get("data set") in names]
        for row in lines:
            row["data set"] += f" {MARK}"
        if lines:
            table.note = f"{table.note} {MARK_NOTE}"
    return list(tables)


def summary(rows: Sequence[Row], problems: Sequence[Problem], setting: Setting) -> Iterator[Block]:
    """Yield the blocks of the summary; nothing without runs in the paper's setting."""
    findings = Findings(rows, problems, setting)
    if not findings.paper:
        return
    table = Table("summary", "", headings("in the paper", "it says", "here", "reproduces"))
    for line in findings.lines():
        table.add(*line)
    yield from ("## In one minute", table)
    yield from findings.surprises()


class Line(NamedTuple):
    """A line of the table."""

    where: str
    says: str
    here: str
    reproduces: str


class Findings:
    """What the runs say about each question, table and figure of the paper."""

    def __init__(self, rows: Sequence[Row], problems: Sequence[Problem], setting: Setting) -> None:
        self.rows, self.setting = rows, setting
        self.problems = problems
        self.own = [problem for problem in problems if not has_other_rows(problem)]
        self.paper = select(rows, part="paper")

    def lines(self) -> Iterator[Line]:
        """Yield the lines for which there are runs."""
        found = (
            *(self._speed(), self._accuracy(), self._budget(), self._decisions()),
            *(self._table1(), self._table2(), self._table3()),
            Line("Figure 1", "a drawing of the merging problem", "–", NOTHING),
            Line("Figure 2", "graphs of h and WD", "drawn again below", YES),
            self._figure3(),
        )
        yield from (line for line in found if line is not None)

    def _speed(self) -> Line | None:
        saved = [
            100 * (1 - median(times) / median(base))
            for _, where in self._settings(self.problems)
            if (base := self._figures("seconds_total", where, BASELINE))
            for strategy in LOOKUPS
            if (times := self._figures("seconds_total", where, strategy))
        ]
        says = [
            value
            for problem in self.problems
            for of_budget in problem.data_set.published.time_saved.values()
            for value in of_budget.values()
        ]
        if not saved:
            return None
        return Line(
            "Question 1: which speed-up?",
            f"lookups save {min(says):.1f} to {max(says):.1f} % of the training time of gss",
            f"{min(saved):.1f} to {max(saved):.1f} %",
            YES if min(saved) > 0 else PARTLY,
        )

    def _accuracy(self) -> Line | None:
        same, n = 0, 0
        for _, where in self._settings(self.problems):
            base = self._figures("accuracy", where, BASELINE)
            for strategy in LOOKUPS:
                ours = self._figures("accuracy", where, strategy)
                if len(base) > 1 and len(ours) > 1:
                    n += 1
                    same += abs(fmean(ours) - fmean(base)) <= max(stdev(ours), stdev(base))
        if not n:
            return None
        return Line(
            "Question 2: at the price of accuracy?",
            "no: most differences are below one standard deviation",
            f"below one standard deviation in {same} of {n} comparisons with gss",
            YES if same > n / 2 else NO,
        )

    def _budget(self) -> Line | None:
        changes = []
        for problem in self.problems:
            found = [
                100 * fmean(frequencies)
                for each, where in self._settings([problem])
                if (frequencies := figures(select(self.rows, **where), "merge_frequency"))
            ]
            if len(found) > 1:
                changes.append((max(found) - min(found), problem.label))
        if not changes:
            return None
        change, label = max(changes)
        return Line(
            "Question 3: does it depend on the budget?",
            "the merging frequency is nearly independent of it",
            f"it changes by at most {change:.1f} points ({label})",
            YES if change <= SAME_FREQUENCY else PARTLY,
        )

    def _decisions(self) -> Line | None:
        found = self._audits("lookup-wd", self.problems)
        if not found:
            return None
        says = [problem.data_set.published.equal_decisions for problem, _ in found]
        texts, least = [], True
        for first in (True, False):
            some = [(p, row) for p, row in found if (row["passes"] == 1) == first]
            if some:
                shares = [100 * row["equal_gss"] for _, row in some]
                name = "in the first pass" if first else "over all passes"
                texts.append(f"{min(shares):.1f} to {max(shares):.1f} % {name}")
                least &= all(
                    100 * row["equal_gss"] > p.data_set.published.equal_decisions - SAME_AGREEMENT
                    for p, row in some
                )
        return Line(
            "Question 4: do the decisions differ?",
            f"gss and lookup-wd agree in {min(says):.1f} to {max(says):.1f} % of the events",
            ", ".join(texts),
            YES if least else PARTLY,
        )

    def _table1(self) -> Line | None:
        off = [
            (abs(row["accuracy"] - problem.data_set.published.exact_accuracy), problem.label)
            for problem in self.own
            for row in select(self.rows, part="exact", data=problem.label)
        ]
        if not off:
            return None
        largest, label = max(off)
        return Line(
            "Table 1: the exact SVM",
            "test accuracies of LIBSVM",
            f"within {largest:.2f} points on the paper's rows ({label})",
            YES if largest <= SAME_ACCURACY else PARTLY,
        )

    def _table2(self) -> Line | None:
        beyond, n = 0, 0
        for problem, where in self._settings(self.own):
            published = problem.data_set.published.accuracy.get(where["budget"], {})
            for strategy, (mean, spread) in published.items():
                ours = self._figures("accuracy", where, strategy)
                if len(ours) > 1:
                    n += 1
                    beyond += abs(fmean(ours) - mean) > stdev(ours) + spread
        if not n:
            return None
        return Line(
            "Table 2: test accuracies",
            "means and standard deviations of 5 runs",
            f"{n - beyond} of {n} agree within the sum of both deviations, on the paper's rows",
            YES if not beyond else PARTLY,
        )

    def _table3(self) -> Line | None:
        off = [abs(ours - says) for _, ours, says in self._frequencies()]
        if not off:
            return None
        return Line(
            "Table 3: merging frequency",
            "6 to 43 % of the steps merge",
            f"differs by {min(off):.1f} to {max(off):.1f} points on the paper's rows",
            YES if max(off) <= SAME_FREQUENCY else NO,
        )

    def _figure3(self) -> Line | None:
        spent = merging_seconds(self.rows, self.problems, self.setting)
        pairs = [
            (of[strategy][0], of[BASELINE][0])
            for of in spent.values()
            for strategy in LOOKUPS
            if strategy in of and BASELINE in of and any(of[BASELINE])
        ]
        if not pairs:
            return None
        less = sum(ours < base for ours, base in pairs)
        return Line(
            "Figure 3: merging time",
            "lookups save most of A, the time to find h",
            f"A is shorter than that of gss in {less} of {len(pairs)} settings",
            YES if less == len(pairs) else PARTLY,
        )

    # --- what differs -----------------------------------------------------------------------------

    def surprises(self) -> Iterator[str]:
        """Yield what differs most, and why."""
        audits = [
            (row["equal_gss"] - p.data_set.published.equal_decisions / 100, p.label, p, row)
            for p, row in self._audits("lookup-wd", self.own)
            if row["passes"] > 1
        ]
        if audits:
            _, label, problem, row = min(audits, key=lambda found: found[0])
            says = problem.data_set.published
            text = (
                f"**Decisions over many passes.** Over {row['passes']} passes on {label}, gss and "
                f"lookup-wd choose the same partner in {100 * row['equal_gss']:.0f} % of the "
                f"events (the paper: {says.equal_decisions:.0f} %), and the factor of lookup-wd is "
                f"{row[FACTOR]:.2f} ({says.factor['lookup-wd']:.3f})."
            )
            for _, one in self._audits("lookup-wd", [problem]):
                if one["passes"] == 1:
                    text += (
                        f" In the first pass, they are {100 * one['equal_gss']:.0f} % and "
                        f"{one[FACTOR]:.3f}."
                    )
            yield (
                f"{text} The authors' own program shows the same. Coefficients of merged vectors "
                "grow with every pass, until their share m falls below the width of a table cell "
                "and the best h below the precision of gss. The strategy merge looks up a scaled "
                "table, and is not affected."
            )
        if frequencies := self._frequencies():
            listed = ", ".join(
                f"{label} {ours:.1f} % ({says:.0f} %)" for label, ours, says in frequencies
            )
            yield (
                "**Merging frequencies** differ where rows and passes are the paper's own: "
                f"{listed}. The authors' own program agrees with ours on ADULT and IJCNN."
            )

    def _frequencies(self) -> list[tuple[str, float, float]]:
        """Return the merging frequency and the published one, for the smaller budgets."""
        found = []
        for problem, where in self._settings(self.own):
            values = figures(select(self.rows, **where), "merge_frequency")
            if where["budget"] == min(problem.data_set.budgets) and values:
                says = problem.data_set.published.merge_frequency
                found.append((problem.label, 100 * fmean(values), says))
        return found

    def _audits(self, strategy: str, problems: Sequence[Problem]) -> list[tuple[Problem, Row]]:
        return [
            (problem, row)
            for problem in problems
            for row in select(self.rows, part="audit", data=problem.label, strategy=strategy)
            if "equal_gss" in row and FACTOR in row
        ]

    def _settings(self, problems: Sequence[Problem]) -> Iterator[tuple[Problem, Row]]:
        for problem in problems:
            for budget in self.setting.budgets_of(problem):
                where = {"part": "paper", "data": problem.label, "budget": budget}
                if select(self.rows, **where):
                    yield problem, where

    def _figures(self, column: str, where: Row, strategy: str) -> list[float]:
        return figures(self.rows, column, **where, strategy=strategy)
