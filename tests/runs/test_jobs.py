"""A job is in every place where users look for it: a module of runs/ that is forgotten in one of them fails here."""

import re
from pathlib import Path

import pytest

from kafka_lagoon.cli.main import COMMANDS, usage
from kafka_lagoon.cli.outcome import JOBS

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCT = ROOT / "pipeline" / "kafka_lagoon"
SHARED = {"__init__", "context"}  # modules of runs/ that are no job

RUNS = {path.stem for path in (PRODUCT / "runs").glob("*.py")} - SHARED


def test_every_job_is_a_command() -> None:
    """Modules of runs/, commands marked as jobs, scripts in jobs/ and jobs of the event run_finished are the same."""
    assert {name for name, command in COMMANDS.items() if command.is_job} == RUNS
    assert {path.stem for path in (ROOT / "jobs").glob("*.py")} == RUNS
    assert set(JOBS) == RUNS


@pytest.mark.parametrize("job", sorted(RUNS))
def test_a_job_is_where_users_look_for_it(job: str) -> None:
    """`lagoon JOB`, its script, a target of the Makefile and README have it."""
    assert f"\n  {job} " in usage()
    assert (PRODUCT / "cli" / f"{job}.py").exists()
    assert f"from kafka_lagoon.cli.{job} import main\n" in (ROOT / "jobs" / f"{job}.py").read_text()
    assert re.search(rf"^{job}: .*## .*\n\t.*jobs/{job}\.py\b", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert f"lagoon {job} " in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("path", sorted((PRODUCT / "runs").glob("*.py")), ids=lambda path: path.stem)
def test_runs_print_nothing(path: Path) -> None:
    """cli/ prints what runs return."""
    assert not re.search(r"\b(print|say|warn|sys\.std\w+)\(", path.read_text())
