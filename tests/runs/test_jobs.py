"""A new job must be added in every place where users look for it."""

import re
from pathlib import Path

import pytest

from kafka_lagoon.cli.outcome import JOBS
from kafka_lagoon.cli.registry import COMMANDS, usage
from kafka_lagoon.cli.registry import JOBS as HEADING
from tests.documents import documents
from tests.permissions import REQUIRED_PERMISSIONS

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCT = ROOT / "pipeline" / "kafka_lagoon"
SHARED = {
    "__init__",
    "context",
    "time_lag",
    "earlier_offsets",
    "restore_preparation",
    "restore_run",
    "stored_days",
}  # modules of runs/ that are not jobs

WITHOUT_KAFKA = {"maintain", "report"}  # jobs that need no permission on a cluster

RUNS = {path.stem for path in (PRODUCT / "runs").glob("*.py")} - SHARED


def text(name: str) -> str:
    """Return the text of a file of the project, or an empty text if there is no such file."""
    path = ROOT / name
    return path.read_text() if path.exists() else ""


def test_no_job_is_only_listed() -> None:
    """Every command with the heading of jobs, script in jobs/, and job of the event run_finished has a module in runs/."""
    listed = {name for name, command in COMMANDS.items() if command.heading == HEADING} | set(JOBS)
    assert (listed | {path.stem for path in (ROOT / "jobs").glob("*.py")}) - RUNS == set()


@pytest.mark.parametrize("job", sorted(RUNS))
def test_a_job_is_where_users_look_for_it(job: str) -> None:
    """The failure lists every place where a new job is missing."""
    needed = {
        f"a line in COMMANDS of cli/registry.py: {job!r}": job in COMMANDS and COMMANDS[job].heading == HEADING,
        "a line in `lagoon --help`": f"\n  {job} " in usage(),
        f"cli/{job}.py with COMMAND": "\nCOMMAND = Command(" in text(f"pipeline/kafka_lagoon/cli/{job}.py"),
        f"the script jobs/{job}.py, which calls lagoon's main": f'main(["{job}", *sys.argv[1:]])'
        in text(f"jobs/{job}.py"),
        "its name in JOBS of cli/outcome.py": job in JOBS,
        f"make {job}": bool(re.search(rf"^{job}: .*## .*\n\t.*jobs/{job}\.py\b", text("Makefile"), re.MULTILINE)),
        f"`lagoon {job}` in README.md or docs/": f"lagoon {job} " in "".join(documents().values()),
        "OF_JOBS of cli/required_permissions.py, or WITHOUT_KAFKA here": job in {*REQUIRED_PERMISSIONS, *WITHOUT_KAFKA},
    }
    missing = [place for place, is_there in needed.items() if not is_there]
    assert not missing, f"the job {job} lacks: {'; '.join(missing)}"


@pytest.mark.parametrize("path", sorted((PRODUCT / "runs").glob("*.py")), ids=lambda path: path.stem)
def test_runs_print_nothing(path: Path) -> None:
    """Only cli/ prints, from the values that a run returns."""
    assert not re.search(r"\b(print|say|warn|sys\.std\w+)\(", path.read_text())
