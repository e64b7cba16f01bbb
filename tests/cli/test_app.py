"""The command line as a process: help, completion, start-up, warnings and exit codes."""

import importlib
import inspect
import os
import signal
import subprocess
import sys
import time
import typing
import warnings

import pytest
from children import LONGEST
from sklearn.exceptions import ConvergenceWarning

from pocketsvm import BudgetedSVC, __version__
from pocketsvm.cli import options
from pocketsvm.cli.app import COMMANDS
from pocketsvm.cli.options import DataOptions
from pocketsvm.estimators import saving
from pocketsvm.files import FORMATS

from .files import FAST

COMMAND = [sys.executable, "-m", "pocketsvm"]
SUBCOMMANDS = [["data", "list"], ["data", "fetch"]]
LARGE_MODULES = ("numpy", "scipy", "sklearn", "joblib", "pyarrow", "matplotlib")


def test_without_arguments_the_help_is_shown(call):
    code, out, err = call()
    assert code == 2
    assert "train" in out + err
    assert call("--version")[1].startswith("pocketsvm ")


@pytest.mark.parametrize("module", ["pocketsvm", "pocketsvm.cli"])
def test_the_package_runs_as_a_module(module):
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True)
    assert (done.returncode, done.stdout.decode()) == (0, f"pocketsvm {__version__}\n")


@pytest.mark.parametrize(
    "command", [[], *([name] for name in COMMANDS), *SUBCOMMANDS], ids=" ".join
)
def test_help_shows_flags_without_a_type(succeed, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    shown = succeed(*command, "--help")
    assert "--help" in shown
    assert "bool" not in shown.lower()
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_repeats_their_first_sentence(name):
    module = importlib.import_module(f"pocketsvm.cli.{name}")
    text = module.app.info.help if hasattr(module, "app") else inspect.getdoc(getattr(module, name))
    assert text.splitlines()[0] == COMMANDS[name]


def choices(options, field):
    """The choices of an option that may be None."""
    kind = typing.get_type_hints(options)[field]
    return typing.get_args(kind if typing.get_origin(kind) is typing.Literal else kind.__args__[0])


def test_the_choices_of_options_are_those_of_the_library():
    assert choices(DataOptions, "format") == FORMATS


# --- start-up and completion ---------------------------------------------------------------------

LOADED = f"""
import sys
from pocketsvm.cli.app import run
code = run(sys.argv[1:])
print(code, [name for name in {LARGE_MODULES} if name in sys.modules], file=sys.stderr)
"""


def large_modules(*arguments, **environment):
    """Run a command line in a new process: exit code and large modules, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    return done.stderr, done.stdout


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["train", "--help"]], ids=" ".join
)
def test_version_and_help_load_no_large_module(arguments):
    assert large_modules(*arguments)[0] == "0 []\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pocketsvm", "ev"], ["evaluate"]),
        (["pocketsvm", "tune", "--log2"], ["--log2c", "--log2g"]),
        (["pocketsvm", "train", "--scale", ""], ["none", "standard", "minmax", "maxabs", "robust"]),
    ],
)
def test_completion_loads_no_large_module(words, expected):
    loaded, completed = large_modules(
        _POCKETSVM_COMPLETE="complete_bash",
        COMP_WORDS=" ".join(words),
        COMP_CWORD=str(len(words) - 1),
    )
    assert (loaded, completed.split()) == ("0 []\n", expected)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_installed(shell, tmp_path):
    home = os.environ | {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    for option in ("--show-completion", "--install-completion"):
        done = subprocess.run(
            [*COMMAND, option, shell], env=home, capture_output=True, text=True, check=True
        )
        assert "complet" in done.stdout
    assert any("_POCKETSVM_COMPLETE" in path.read_text() for path in tmp_path.rglob("*pocketsvm*"))


# --- warnings, signals and exit codes ------------------------------------------------------------


def test_a_warning_is_one_line(call, moons, monkeypatch):
    def fit(self, X, y):
        warnings.warn("not yet\nthere", ConvergenceWarning, stacklevel=2)
        return original(self, X, y)

    original = BudgetedSVC.fit
    monkeypatch.setattr(BudgetedSVC, "fit", fit)
    err = call("train", "moons.txt", "m.psvm", *FAST)[2]
    assert "pocketsvm: warning: not yet there\n" in err


def test_a_full_disk_and_a_closed_pipe(succeed, folder, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    command = [*COMMAND, "predict", "m.psvm", "moons.txt"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "pocketsvm: output: No space left on device\n")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_an_interrupt_leaves_no_model(folder, moons):
    command = [
        *COMMAND,
        "train",
        "moons.txt",
        "m.psvm",
        "--polish",
        "no",
        "--max-iter",
        "100000000",
    ]
    before = sorted(folder.iterdir())
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # may be ignored here
    ) as process:
        try:
            assert "moons.txt: 300 rows" in process.stderr.readline()
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=LONGEST)
        finally:
            process.kill()
    assert process.returncode == 130
    assert err.endswith("pocketsvm: interrupted\n")
    assert "Traceback" not in err
    assert sorted(folder.iterdir()) == before


def test_an_unknown_command(refuse):
    refuse(["unknown"], 2, "unknown")
    refuse(["trian"], 2, "Did you mean 'train'?")


def test_the_largest_number_of_threads_is_that_of_model_files():
    assert options.MAX_THREADS == saving.MAX_THREADS
