"""A job is in every place where users look for it: a module of runs/ that is forgotten in one of them fails here."""

import re
from pathlib import Path

import pytest

from kafka_lagoon.cli.main import COMMANDS, usage
from kafka_lagoon.cli.outcome import JOBS
from kafka_lagoon.cli.permissions import REQUIRED_PERMISSIONS

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCT = ROOT / "pipeline" / "kafka_lagoon"
SHARED = {"__init__", "context"}  # modules of runs/ that are no job

WITHOUT_KAFKA = {"maintain"}  # jobs that need no permission on a cluster

RUNS = {path.stem for path in (PRODUCT / "runs").glob("*.py")} - SHARED


def test_every_job_is_a_command() -> None:
    """Modules of runs/, commands marked as jobs, scripts in jobs/ and jobs of the event run_finished are the same."""
    assert {name for name, command in COMMANDS.items() if command.is_job} == RUNS
    assert {path.stem for path in (ROOT / "jobs").glob("*.py")} == RUNS
    assert set(JOBS) == RUNS


@pytest.mark.parametrize("job", sorted(RUNS))
def test_a_job_is_where_users_look_for_it(job: str) -> None:
    """`lagoon JOB`, its script, a target of the Makefile and README have it, and its required permissions are declared."""
    assert f"\n  {job} " in usage()
    assert (PRODUCT / "cli" / f"{job}.py").exists()
    assert f'main(["{job}", *sys.argv[1:]])' in (ROOT / "jobs" / f"{job}.py").read_text()
    assert re.search(rf"^{job}: .*## .*\n\t.*jobs/{job}\.py\b", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert f"lagoon {job} " in (ROOT / "README.md").read_text()
    assert (job in REQUIRED_PERMISSIONS) != (job in WITHOUT_KAFKA)


@pytest.mark.parametrize("path", sorted((PRODUCT / "runs").glob("*.py")), ids=lambda path: path.stem)
def test_runs_print_nothing(path: Path) -> None:
    """cli/ prints what runs return."""
    assert not re.search(r"\b(print|say|warn|sys\.std\w+)\(", path.read_text())
