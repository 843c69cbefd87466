"""Differences are counted, printed with the command that repeats them, and end the command with exit code 1."""

import json
from pathlib import Path

import pytest

from kafka_lagoon.errors import ConfigError
from tests.proof.differential import __main__ as command
from tests.proof.differential.report import Cases, Piece, Report


def _same(cases: Cases, report: Report) -> None:
    report.compared["things"] += len(cases.numbers)


def _different(cases: Cases, report: Report) -> None:
    for number in cases.numbers:
        report.compared["things"] += 1
        with report.judging("other", number):
            assert number != 3, "three is different"
        with report.judging("other", number):
            if number == 5:
                raise ConfigError(["five is refused"])


@pytest.fixture(autouse=True)
def _pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = {"one": Piece(run=_same, cases=100, step=30), "other": Piece(run=_different, cases=8, step=8)}
    monkeypatch.setattr(command, "PIECES", pieces)
    monkeypatch.setattr(command, "exit_on_termination", lambda: None)  # this process goes on


def test_no_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last line has the counts, and the file the same ones."""
    path = tmp_path / "figures.json"
    assert command.main(["--only", "one", "--scale", "0.05", "--json", str(path)]) == 0
    assert (
        capsys.readouterr().out.splitlines()[-1].startswith("differential: 5 things compared, 0 differences, seed 1, ")
    )
    figures = json.loads(path.read_text("utf-8"))
    assert (figures["tried"], figures["violations"]) == ({"cases of one": 5, "things": 5}, {"differences": 0})


def test_a_difference_is_printed_with_its_case(capsys: pytest.CaptureFixture[str]) -> None:
    """A failed comparison and an error of the product are differences; the other cases go on."""
    assert command.main(["--seed", "9"]) == 1
    printed = capsys.readouterr().out
    assert "DIFFERENCE in other, seed 9, case 3: AssertionError: three is different" in printed
    assert "python -m tests.proof.differential --only other --seed 9 --first 3 --cases 1" in printed
    assert "five is refused" in printed
    assert "differential: 108 things compared, 2 differences, seed 9" in printed


def test_a_case_is_repeated_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """The printed command runs this case and no other."""
    assert command.main(["--only", "other", "--seed", "9", "--first", "3", "--cases", "1"]) == 1
    assert "1 things compared, 1 differences" in capsys.readouterr().out


def test_nothing_compared_is_a_failure() -> None:
    """A run that compares nothing shows nothing."""
    assert command.main(["--only", "one", "--cases", "0"]) == 1
    command.PIECES["one"] = Piece(run=lambda _, __: None, cases=1, step=1)
    assert command.main(["--only", "one"]) == 1


def test_a_run_goes_on_after_the_cases_of_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is ended keeps the steps it has completed; the next one adds the others to its figures, and differences stay."""
    path, seen = tmp_path / "figures.json", list[range]()

    def seen_until_61(cases: Cases, report: Report) -> None:
        seen.append(cases.numbers)
        report.compared["things"] += len(cases.numbers)
        if cases.numbers.start == 60 and len(seen) == 3:
            raise KeyboardInterrupt

    monkeypatch.setitem(command.PIECES, "one", Piece(run=seen_until_61, cases=100, step=30))
    arguments = ["--go-on", "--json", str(path)]
    with pytest.raises(KeyboardInterrupt):
        command.main(arguments)
    assert json.loads(path.read_text("utf-8"))["tried"] == {"cases of one": 60, "things": 60}
    assert command.main(arguments) == 1  # of the other piece
    assert command.main(arguments) == 1
    assert seen == [range(30), range(30, 60), range(60, 90), range(60, 90), range(90, 100)]
    figures = json.loads(path.read_text("utf-8"))
    assert figures["tried"] == {"cases of one": 100, "cases of other": 8, "things": 108}
    assert (figures["violations"], len(figures["runs"])) == ({"differences": 2}, 1)


def test_logs_stay_only_if_something_differs(capsys: pytest.CaptureFixture[str]) -> None:
    """The folder is printed then; a run that breaks off leaves none."""
    report = Report(1)
    with pytest.raises(SystemExit), report.folder("other") as folder:
        raise SystemExit
    assert not folder.exists()
    with report.folder("other") as folder:
        report.differ("other", 3, "it differs")
    assert folder.is_dir()
    assert f"other: logs and tables are in {folder}" in capsys.readouterr().out
    folder.rmdir()


def test_a_small_scale_has_a_case_of_each_piece() -> None:
    """A scale never leaves a piece out."""
    assert Piece(run=_same, cases=40, step=40).cases_at(0.001, 1, 7, None).numbers == range(7, 8)
