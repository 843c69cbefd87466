"""A check that raises an error has a result, without secrets."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_lagoon.doctor import results
from kafka_lagoon.doctor.results import CHECKS, Check, Result, run_alone
from kafka_lagoon.errors import ConfigError, TableError
from tests.documents import page, parts_of

CHECK = Check("disk", "/data")


def broken(error: Exception) -> Callable[[], Iterator[Result]]:
    def make() -> Iterator[Result]:
        yield CHECK.ok("so far")
        raise error

    return make


@pytest.mark.parametrize(
    ("error", "results"),
    [
        (TableError("no\n  such table"), [("failed", "no such table", None)]),
        (ConfigError(["one", "two"]), [("failed", "one", None), ("failed", "two", None)]),
        (
            ModuleNotFoundError("No module named 'pyarrow.fs'", name="pyarrow.fs"),
            [("not_checked", "pyarrow is not installed, or does not load", "pip install 'kafka-lagoon[all]'")],
        ),
        (PermissionError(13, "Permission denied", "/data/x"), [("failed", "/data/x Permission denied", None)]),
    ],
)
def test_what_keeps_a_check_from_running_is_its_result(error: Exception, results: list[tuple[str, ...]]) -> None:
    """The result comes after earlier observations of the check; an unexpected error is a result, too."""
    first, *rest = run_alone(CHECK, broken(error))
    assert first == CHECK.ok("so far")
    assert [(one.status, one.observed, one.to_do) for one in rest] == results


def test_a_fault_of_ours_shows_no_words() -> None:
    """The message is left out, because it may have a password."""
    (_, result) = run_alone(CHECK, broken(RuntimeError("password hunter2")))
    assert (result.status, result.observed) == ("failed", "the check broke: RuntimeError")


def test_every_check_is_called() -> None:
    """A public function that makes results is called by its own module, or by another module that names it."""
    folder = Path(str(results.__file__)).parent
    texts = {path: path.read_text("utf-8") for path in (*folder.glob("*.py"), folder.parent / "cli" / "doctor.py")}
    for own, text in texts.items():
        # Parameters may have lines of their own.
        for name in re.findall(r"^def ([a-z]\w*)\((?:(?!^def )[\s\S])*?\) -> Iterator\[Result\]:", text, re.MULTILINE):
            others = "".join(other for path, other in texts.items() if path != own)
            named = re.search(rf"\b{own.stem}\.{name}\b|\.{own.stem} import .*\b{name}\b", others)
            assert named or re.search(rf"(?<!def )\b{name}\(", text), f"{own.stem}.{name} is not called"


def test_every_check_is_declared() -> None:
    """Each check is declared once, with its line of docs/doctor.md; every declared check is made."""
    folder = Path(str(results.__file__)).parent
    texts = "".join(path.read_text("utf-8") for path in (*folder.glob("*.py"), folder.parent / "cli" / "doctor.py"))
    made = set(re.findall(r'\bCheck\("([a-z ]+)"', texts))
    assert made == set(CHECKS), "CHECKS of doctor/results.py lacks a check, or has one that nothing makes"
    assert parts_of(page("doctor")) == ["checks"], "docs/doctor.md has the lines of CHECKS"
