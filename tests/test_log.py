"""Events are JSON lines on the chosen stream or file, and are written nowhere else."""

import json
import subprocess
import sys
from pathlib import Path

USE = "import sys; from pathlib import Path; from kafka_lagoon import log; "
TWO = "log.info('begun', cluster='a\\nb'); log.error('run_finished', error='\\u20ac')"


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", USE + code], capture_output=True, text=True, check=True)


def test_events_go_nowhere_until_they_are_sent() -> None:
    """A person at a terminal sees no names of events, even of errors."""
    done = run(TWO)
    assert (done.stdout, done.stderr) == ("", "")


def test_events_are_json_lines() -> None:
    """Each event is one ASCII line with time, level, name and values."""
    events = [json.loads(line) for line in run(f"log.configure(); {TWO}").stderr.encode("ascii").splitlines()]
    assert [(one["level"], one["event"]) for one in events] == [("info", "begun"), ("error", "run_finished")]
    assert (events[0]["cluster"], events[1]["error"]) == ("a\nb", "€")


def test_a_file_is_appended_to(tmp_path: Path) -> None:
    """The content of the file is kept, and nothing is printed."""
    for _ in range(2):
        done = run(f"log.configure(); log.append_to(Path({str(tmp_path / 'log')!r})); {TWO}")
        assert (done.stdout, done.stderr) == ("", "")
    assert len((tmp_path / "log").read_text().splitlines()) == 4


def test_a_full_disk_is_said_without_a_traceback() -> None:
    """Events that cannot be written give one line with the cause, and the run continues. A snapshot has twenty events."""
    done = run("log.append_to(Path('/dev/full')); log.info('begun'); log.info('step'); print('on')")
    assert done.stdout == "on\n"
    assert done.stderr == "lagoon: --log-file /dev/full: an event could not be written: No space left on device\n"


def test_an_event_after_a_part_of_one_is_a_line(tmp_path: Path) -> None:
    """A disk that is full in the middle of an event keeps a part of it: the event after it has a line, in this run and the next."""
    path = tmp_path / "log"
    limit = (
        "import resource; limit = lambda n: resource.setrlimit(resource.RLIMIT_FSIZE, (n, resource.RLIM_INFINITY)); "
    )
    begun = f"log.append_to(Path({str(path)!r})); "
    done = run(f"{limit}{begun}limit(40); log.info('cut'); limit(resource.RLIM_INFINITY); log.info('on')")
    assert done.stderr == f"lagoon: --log-file {path}: an event could not be written: only a part of it was\n"
    cut, on = path.read_text().splitlines()
    assert (len(cut), json.loads(on)["event"]) == (40, "on")
    path.write_text(cut)
    run(f"{begun}log.info('next')")
    assert json.loads(path.read_text().splitlines()[1])["event"] == "next"


def test_a_full_disk_of_both_logs_ends_no_run() -> None:
    """Standard error is often appended to a file of the same folder: neither the event nor the line about it is written."""
    code = USE + "log.append_to(Path('/dev/full')); log.info('begun'); print('on')"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=full, text=True, check=False)
    assert done.stdout == "on\n"
