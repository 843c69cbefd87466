"""Measures commands over a day and over a year of snapshots every five minutes: they must cost the same.

The cluster has 6 brokers, 120 topics, 600 partitions and 200 groups, so 6,000 lag rows a snapshot. It is compared with nothing: give
another checkout as PYTHONPATH to compare with it.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

from tests.bench.history_tables import Size, write
from tests.bench.measure import Findings

_COMMANDS = (
    "lag -n 5 --no-pager",
    "lag --at '2d ago' -n 5 --no-pager",
    "health -n 5 --no-pager",
    "changes -n 5 --no-pager",
    "changes --since '2d ago' -n 5 --no-pager",
    "report --hours 24 --out page.html",
)
_DAYS = {"day": 1, "week": 7, "year": 365}
_ROUNDS = 3


def run() -> Findings:
    """Return processor seconds and memory by command and length of the history."""
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    with tempfile.TemporaryDirectory(prefix="lagoon-history-") as folder:
        for name, days in _DAYS.items():
            (Path(folder) / name).mkdir()
            _written_elsewhere(Path(folder) / name, Size(days=days, last_day=yesterday))
        notes = [_note(command, Path(folder)) for command in _COMMANDS]
    return Findings(comparisons=[], notes=notes)


def _written_elsewhere(folder: Path, size: Size) -> None:
    """Write in a process of its own: the peak memory of a process begins with that of the process that starts it."""
    writer = get_context("spawn").Process(target=write, args=(folder, size))
    writer.start()
    writer.join()
    if writer.exitcode:
        raise RuntimeError(f"the tables of {size.days} days were not written: exit code {writer.exitcode}")


def _note(command: str, folder: Path) -> str:
    costs = {name: min(_cost(command, folder / name) for _ in range(_ROUNDS)) for name in _DAYS}
    parts = (f"{cpu_s:.2f} CPU s and {peak_mb} MB over a {name}" for name, (cpu_s, peak_mb) in costs.items())
    return f"`lagoon {command}`: {', '.join(parts)}."


def _cost(command: str, warehouse: Path) -> tuple[float, int]:
    """Processor seconds and MB of one run; of a day two days ago there is nothing, which is an answer, too."""
    lagoon = (sys.executable, "-m", "kafka_lagoon", *shlex.split(command), "--warehouse", str(warehouse))
    silent = subprocess.DEVNULL
    with subprocess.Popen(lagoon, cwd=warehouse.parent, stdout=silent, stderr=silent) as process:
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


if __name__ == "__main__":
    print("\n".join(run().notes))
