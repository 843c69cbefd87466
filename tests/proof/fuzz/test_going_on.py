"""A search that was ended goes on with the next target, and adds to the figures."""

import importlib.util
from pathlib import Path

import pytest

from tests.proof.figures import Figures
from tests.proof.fuzz import __main__ as fuzz

TARGETS = ("--target", "jaas", "--target", "words", "--target", "scram")


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets that are searched, by nothing; the third is ended."""
    names: list[str] = []

    def searched(target: fuzz.Target, folder: Path, runs: int, seconds: float) -> fuzz.Outcome:
        assert (folder.name, runs, seconds) == (target.name, 1000, 600.0)
        if len(names) == 2:
            names.append("ended")
            raise KeyboardInterrupt
        names.append(target.name)
        return fuzz.Outcome({"inputs": 10, "longest_ms": 90.4 / len(names), "growth_mib": len(names)})

    monkeypatch.setattr(fuzz, "searched", searched)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: True)
    return names


def test_a_search_goes_on(tmp_path: Path, searched: list[str]) -> None:
    """The targets before are not searched again; inputs are added up, and of times and memory the largest stays."""
    arguments = [*TARGETS, "--runs", "1000", "--seconds", "600", "--go-on", "--json", str(tmp_path / "figures.json")]
    arguments += ["--folder", str(tmp_path / "search")]
    with pytest.raises(KeyboardInterrupt):
        fuzz.main(arguments)
    assert Figures.read(tmp_path / "figures.json").tried == {"inputs": 20, "targets": 2}
    assert fuzz.main(arguments) == 0
    assert searched == ["jaas", "words", "ended", "scram"]
    figures = Figures.read(tmp_path / "figures.json")
    assert figures.tried == {"inputs": 30, "targets": 3}
    assert figures.happened == {"ms at most": 90, "MiB at most": 4}
    assert fuzz.main(arguments) == 0
    assert len(searched) == 4
    assert Figures.read(tmp_path / "figures.json") == figures


def test_findings_stay(tmp_path: Path, searched: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A run that goes on ends with 1 if an earlier one found something."""
    path = tmp_path / "figures.json"
    Figures(tried={"inputs": 10, "targets": 2}, violations={"findings": 1}).write(path)
    arguments = [
        *TARGETS,
        "--runs",
        "1000",
        "--seconds",
        "600",
        "--go-on",
        "--json",
        str(path),
        "--folder",
        str(tmp_path),
    ]
    assert fuzz.main(arguments) == 1
    assert searched == ["scram"]
    assert "fuzz: 20 inputs, 3 targets, 1 findings" in capsys.readouterr().out
