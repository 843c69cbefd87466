"""The crontab of conf/cron starts each job once at a time, and prints what cron should mail."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.schedules.recipes import crontab

JOBS = ("snapshot", "ingest", "maintain", "report")


def start(job: str, folder: Path, limit: str | None = None) -> subprocess.Popen[str]:
    """Start the line of a job as cron does, with the `lagoon` of a folder, which has the logs, too.

    `limit` replaces the time after which a run is ended.
    """
    table = crontab()
    command = table.commands[job]
    if limit is not None:
        command = re.sub(r"(\$LIMIT) \w+", rf"\1 {limit}", command)
    moved = {
        name: value.replace("/opt/kafka-lagoon/.venv/bin", str(folder)).replace("/var/log/lagoon", str(folder))
        for name, value in {**table.variables, "COMMAND": command}.items()
    }
    environ = {"HOME": str(folder), "PATH": "/usr/bin:/bin", **moved}
    return subprocess.Popen(
        ["/bin/sh", "-c", moved["COMMAND"]], env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def write_lagoon(folder: Path, script: str) -> None:
    command = folder / "lagoon"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)


@pytest.mark.parametrize("job", JOBS)
def test_a_job_is_not_started_before_its_last_run_has_ended(tmp_path: Path, job: str) -> None:
    """Of the run that was not started nothing is mailed. A process that the last run left does not stop the next one."""
    os.mkfifo(tmp_path / "end")
    write_lagoon(tmp_path, f'sleep 5 >/dev/null 2>&1 & echo "$1" >> {tmp_path}/started; cat {tmp_path}/end')
    with start(job, tmp_path) as first:
        with (tmp_path / "end").open("w"):  # waits for the run
            assert start(job, tmp_path).communicate() == ("", None)
        assert first.wait() == 0
    with start(job, tmp_path) as following, (tmp_path / "end").open("w"):
        pass
    assert following.returncode == 0
    assert (tmp_path / "started").read_text() == f"{job}\n{job}\n"


@pytest.mark.parametrize(("code", "printed"), [(0, ""), (1, "why\n"), (2, "why\n"), (3, "why\n"), (4, "")])
def test_cron_mails_what_people_have_to_look_at(tmp_path: Path, code: int, printed: str) -> None:
    """The end of the log of a run that failed or is incomplete, and nothing of others."""
    write_lagoon(tmp_path, f"echo why; exit {code}")
    said, _ = start("ingest", tmp_path).communicate()
    assert said.endswith(printed)
    assert bool(said) == bool(printed)


@pytest.mark.parametrize("job", JOBS)
def test_a_run_that_hangs_is_ended_and_mailed(tmp_path: Path, job: str) -> None:
    """Else no run of the job would start any more, each with exit code 4, of which nothing is mailed."""
    write_lagoon(tmp_path, "sleep 60")
    said, _ = start(job, tmp_path, limit="0.2s").communicate(timeout=30)
    assert re.search("timeout: sending signal [A-Z]+ to command", said)
