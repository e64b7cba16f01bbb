"""Constants of the method."""

import ast
import re
from dataclasses import fields
from pathlib import Path

from pocketsvm.training.settings import Choices, SearchChoices

ROOT = Path(__file__).parents[2]

# Guards against rounding and overflow, ranges of inputs, and limits that a run which converges does
# not reach.
SAFETY = {
    *("all_rows.MOST_ROUNDS", "exact.MOST_STEPS", "exact.TOLERANCE", "exact.LARGEST_ERROR"),
    *("newton.MOST_STEPS", "newton.MOST_TRIALS", "solve.NOT_CONVERGED", "pairs.ANY_WIDTH"),
    *("sample.LARGEST_CURVATURE", "feature_scales.LEAST_ROWS", "feature_scales.CONSTANT"),
    *("scores.MOST_NARROWED", "scores.ROUNDING", "conjugate.MOST_PRODUCTS", "batches.LEAST"),
    "scans.LEAST_OTHERS",
    *("hessian.JITTER", "hessian.NEARLY_ONE", "hessian.LEAST_JITTER", "hessian.FIRST_RIDGE"),
    *("hessian.NEXT_RIDGE", "hessian.MOST_RIDGE", "hessian.INTERCEPT_CURVATURE"),
    *("hessian.LEAST_REST", "small_model.JITTER", "torch_lbfgs.LEAST_CURVATURE"),
    *("torch_lbfgs.MOST_TRIALS", "passes.LEAST_BUDGET", "regularisation.ALPHA_RANGE"),
    *("regularisation.WEIGHT_RATIO", "regularisation.HEAVIEST"),
    *("regularisation.COEFFICIENT_RANGE", "novelty.WEIGHT_RANGE", "regression.TARGET_RANGE"),
}
# They change memory and time; results differ by rounding.
BLOCKS = {
    *("pairs.ROWS_AT_ONCE", "pairs.PAIRS_AT_ONCE", "scans.WEIGHTS_AT_ONCE", "sample.SPARSE"),
    "whitened.ROWS_AT_ONCE",
    *("scores.MOST_COMPARED", "scores.BINS", "batches.ROWS_AT_ONCE", "hessian.PANEL"),
    *("hessian.AT_ONCE", "hessian.FACTOR_PANEL", "hessian.FACTOR_ROWS", "hessian.ASSEMBLED"),
    *("kernel.BLOCK_VALUES", "kernel.OUTPUT_VALUES", "kernel.VALUES_AT_ONCE", "slices.AHEAD"),
    *("torch.SQUARES", "torch.MOST_OF_SCIPY", "torch.RESULT_BYTES", "torch_batches.FIRST_STEPS"),
    *("torch_rows.MOST_VALUES", "torch_rows.LEAST_VALUES", "torch_rows.VALUE_BYTES"),
    *("torch_rows.MOST_RESIDENT", "torch_rows.SMALL", "torch_rows.ALIGNED"),
    *("torch_rows.STAGED_AT_ONCE", "torch_rows.LEAST_COPIED", "torch_rows.MOST_STREAMS"),
    "torch_rows.CPU_BYTES",
}
# They change the steps to a solution, and the time of it; its tolerance says how close they come.
STEPS = {
    *("all_rows.FORCING", "newton.FLAT", "conjugate.LEAST_GAIN", "exact.MOST_ROWS"),
    *("problem.ROWS_PER_VECTOR", "problem.ROUGH_ROWS_PER_VECTOR", "problem.SMALL_CHANGE"),
    *("problem.MOST_HESSIANS", "problem.MANY_OUTPUTS", "problem.PRODUCTS_OF_PART"),
    *("problem.PRODUCTS", "native.EXPONENTIAL_WORK", "torch_lbfgs.N_PAIRS"),
    *("torch_lbfgs.LEAST_GAIN", "torch_lbfgs.LEAST_TURN"),
}
# What fits into memory decides whether a sample represents rows; some rows tell what all are like.
SAMPLES = {"kernel.MOST_KEPT", "sample.ROWS_TO_COUNT", "novelty.MOST_PAIRED"}
# The meaning of C in a stream, Adam's usual numbers, and a plot.
CONVENTIONS = {
    "regularisation.ASSUMED_STREAM_ROWS",
    *("batches.KEPT", "batches.KEPT_SQUARES", "scores.LOWEST_COLOR"),
}
OUTSIDE = SAFETY | BLOCKS | STEPS | SAMPLES | CONVENTIONS

# The same of the core. The paper defines the strategies; all other numbers are of these kinds.
IN_THE_CORE = {
    *("trainer.most_last_weight", "log_loss.least", "squared_hinge.steepest"),  # safety
    *("projection.jitter", "projection.updates_per_row", "observer.tie", "losses.most_trials"),
    *("gss.eps", "losses.flat"),  # the paper's, and steps
}


def test_copies_move_where_the_whole_would():
    whole, copy = Choices(), Choices().for_share(0.1)
    assert copy.most_loss / 50 == whole.most_loss / 500
    assert copy.moves // 50 == whole.moves // 500


def numbers(node):
    """Return the numbers of an expression; none if it has something else."""
    try:
        value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
    except (NameError, TypeError, AttributeError):
        return []
    values = value if isinstance(value, tuple) else [value]
    return values if all(isinstance(each, int | float) for each in values) else []


def test_numbers_that_change_results_are_choices():
    """A number beside its algorithm must be of one of the kinds above; others are choices."""
    found = set()
    for folder in ("solving", "backends", "training", "search", "tasks"):
        for path in (ROOT / "src/pocketsvm" / folder).glob("*.py"):
            for node in ast.parse(path.read_text()).body:
                for target in node.targets if isinstance(node, ast.Assign) else ():
                    names = target.elts if isinstance(target, ast.Tuple) else [target]
                    if numbers(node.value):
                        found |= {f"{path.stem}.{name.id}" for name in names}
    assert found == OUTSIDE


def test_numbers_of_the_core_that_change_results_are_choices():
    found = set()
    pattern = re.compile(r"constexpr (?:double|int|std::size_t|std::int64_t) ([^;{}]*);")
    for folder in ("training", "strategies", "losses"):
        for path in (ROOT / "native" / folder).glob("*.hpp"):
            for declared in pattern.findall(path.read_text()):
                found |= {f"{path.stem}.{name}" for name in re.findall(r"(\w+) =", declared)}
    found = {name for name in found if not re.search("work|period|distance", name)}  # time
    losses = (ROOT / "native/solving/losses.hpp").read_text()
    found |= {f"losses.{name}" for _, name in re.findall(r"constexpr (double|int) (\w+) =", losses)}
    assert found == IN_THE_CORE


def test_there_are_few_choices():
    apart = "scale", "batch", "held_"
    names = [field.name for field in fields(Choices)]
    assert sum(not any(word in name for word in apart) for name in names) <= 25
    assert len(fields(SearchChoices)) <= 10
