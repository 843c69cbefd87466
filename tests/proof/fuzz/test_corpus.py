"""Every input that a search has kept, or that once was a finding, is tried again, without atheris."""

import importlib.util
import time

import pytest

from tests.proof.fuzz import limits
from tests.proof.fuzz.__main__ import main
from tests.proof.fuzz.limits import tried
from tests.proof.fuzz.table import CORPUS, TARGETS

_MOST_FILES, _MOST_BYTES = 600, 1 << 20


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs(name: str) -> None:
    """No target lets an error through that it does not declare, nor takes too long or too much memory."""
    target = TARGETS[name]
    run, _ = target.load()
    paths = sorted(target.corpus.iterdir())
    assert paths, f"python -m tests.proof.fuzz --target {name} --seconds 60 --folder F, and again with --keep"
    faults = {path.name: trial.fault for path in paths if (trial := tried(run, path.read_bytes())).fault}
    assert not faults


def test_the_corpus_is_small() -> None:
    """It has folders of targets alone, and stays a small part of the repository."""
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    sizes = [path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()]
    assert len(sizes) <= _MOST_FILES
    assert sum(sizes) <= _MOST_BYTES


def _slow(_: bytes) -> None:
    started = time.process_time()
    while time.process_time() - started <= limits.MOST_SECONDS:
        pass


def _large(data: bytes) -> None:
    bytearray(200 << 20)[:: 4 << 10] = b"x" * (50 << 10)  # touches every page
    assert data


@pytest.mark.long
@pytest.mark.parametrize(("run", "place"), [(_slow, "time"), (_large, "memory"), (lambda data: data[9], "IndexError")])
def test_faults_are_seen(run: object, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An input that takes too long, too much memory, or raises an error that the target does not catch is a fault."""
    if place == "time":
        monkeypatch.setattr(limits, "MOST_SECONDS", 0.01)
    assert tried(run, b"x").place.startswith(place)  # type: ignore[arg-type]


def test_an_input_without_a_fault() -> None:
    """Its measures are those of the target."""
    trial = tried(lambda _: None, b"x")
    assert (trial.fault, trial.place) == ("", "")
    assert trial.seconds < limits.MOST_SECONDS


def test_without_atheris(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A search needs atheris, and says so in one line; the list of targets needs nothing."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert main(["--target", "jaas"]) == 2
    out, complaint = capsys.readouterr()
    assert (out, complaint.count("\n")) == ("", 1)
    assert "atheris is not installed" in complaint
    assert main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(TARGETS)
