"""Several clusters are captured at once, and reported as if they had been captured one after the other."""

import json
import os
import signal
import subprocess
import sys
from _thread import interrupt_main
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Event, Lock, Thread, main_thread

import pytest
from py4j.protocol import Py4JError

from kafka_lagoon import log, terminations
from kafka_lagoon.cli.outcome import PARTIAL, SNAPSHOT, RunOutcome, at_once, one_by_one, with_event
from kafka_lagoon.cli.terminal import (
    BAD_CONFIGURATION,
    COMPLETE,
    FAILED,
    INCOMPLETE,
    LOCKED,
    OutputFailed,
    reported,
    worst_of_clusters,
)
from kafka_lagoon.delta import storage  # noqa: F401  of a command that starts a JVM
from kafka_lagoon.errors import LockHeld, TableError
from tests.clock import CLOCK

NAMES = ("a", "b", "c")


def outcomes() -> list[RunOutcome]:
    """Make an outcome for each cluster."""
    return [RunOutcome(job=SNAPSHOT, cluster=name) for name in NAMES]


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Make a stream for the events of the test."""
    log.append_to(tmp_path / "events")
    return tmp_path / "events"


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[Future[BaseException | None]]:
    """Return the ends of the runs of `at_once`, in the order of the clusters."""
    made: list[Future[BaseException | None]] = []

    def end() -> Future[BaseException | None]:
        made.append(Future())
        return made[-1]

    monkeypatch.setattr("kafka_lagoon.cli.outcome.Future", end)
    return made


def wait_for_others(ends: list[Future[BaseException | None]]) -> None:
    """Wait in the run of the first cluster for the ends of the others."""
    for end in ends[1:]:
        end.result(60)


def test_reports_are_in_the_order_of_the_settings(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All run at once, the last ends first, and one fails: lines and events are ordered, and each has its exit code.

    A run that succeeds may have a status of its own, as an ingest has that lost records.
    """
    meeting, ended = Barrier(3), []

    def run(outcome: RunOutcome) -> int:
        meeting.wait(10)
        while len(ended) < "cba".index(str(outcome.cluster)):
            CLOCK.sleep(0.001)
        ended.append(outcome.cluster)
        if outcome.cluster == "b":
            raise TableError("it is gone")
        outcome.lines.append(f"{outcome.cluster} is done")
        outcome.status = PARTIAL if outcome.cluster == "c" else None
        return COMPLETE

    assert at_once(outcomes(), 3, CLOCK, run) == [COMPLETE, FAILED, COMPLETE]
    assert ended == ["c", "b", "a"]
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("a is done\nc is done\n", "lagoon: b: it is gone\n")
    finished = [json.loads(line) for line in events.read_text().splitlines()]
    assert [(event["cluster"], event["status"], event["error"]) for event in finished] == [
        ("a", "complete", None),
        ("b", "failed", "it is gone"),
        ("c", "partial", None),
    ]


@pytest.mark.parametrize("limit", [1, 2])
def test_no_more_than_the_limit(limit: int) -> None:
    """At most as many runs as the limit are under way at once."""
    lock, running, most = Lock(), [], []

    def run(outcome: RunOutcome) -> int:
        with lock:
            running.append(outcome)
            most.append(len(running))
        CLOCK.sleep(0.02)
        running.remove(outcome)
        return INCOMPLETE

    assert at_once(outcomes(), limit, CLOCK, run) == [INCOMPLETE] * 3
    assert max(most) <= limit


@pytest.mark.usefixtures("events")
@pytest.mark.parametrize("limit", [1, 3])
def test_what_nobody_expects_is_raised(limit: int) -> None:
    """An unexpected error ends the command with a traceback, after all clusters have been run and reported."""

    def run(outcome: RunOutcome) -> int:
        if outcome.cluster == "b":
            raise BrokenBarrierError
        return COMPLETE

    made = outcomes()
    with pytest.raises(BrokenBarrierError):
        at_once(made, limit, CLOCK, run)
    assert [one.status for one in made] == ["complete", "failed", "complete"]


@pytest.mark.usefixtures("events")
def test_ctrl_c_ends_all() -> None:
    """The clusters that wait are not run any more."""

    def run(outcome: RunOutcome) -> int:
        if outcome.cluster == "b":
            raise KeyboardInterrupt
        return COMPLETE

    made = outcomes()
    with pytest.raises(KeyboardInterrupt):
        at_once(made, 1, CLOCK, run)
    assert [one.status for one in made] == ["complete", "failed", None]


@pytest.mark.usefixtures("events")
@pytest.mark.parametrize("error", [TableError("the JVM is gone"), AttributeError("a fault of py4j")])
def test_an_error_by_ctrl_c_ends_all(error: Exception) -> None:
    """Py4j raises such errors while it handles Ctrl-C and SIGTERM. The others were run to their end after an AttributeError."""

    def run(_: RunOutcome) -> int:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt as interrupt:
            raise error from interrupt
        return COMPLETE

    made = outcomes()
    with pytest.raises(KeyboardInterrupt):
        one_by_one(made, CLOCK, run)
    assert [one.error for one in made] == ["KeyboardInterrupt", None, None]


@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize(
    ("received", "code"), [([], 130), ([signal.SIGTERM], 143), ([signal.SIGHUP, signal.SIGTERM], 129)]
)
def test_an_interrupted_run_has_the_exit_code_of_its_process(
    events: Path, monkeypatch: pytest.MonkeyPatch, limit: int, received: list[int], code: int
) -> None:
    """Its event and its metrics had 1. Runs that have ended keep theirs."""
    monkeypatch.setattr(terminations, "terminations", received)

    def run(outcome: RunOutcome) -> int:
        if outcome.cluster == "a":
            return INCOMPLETE
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        at_once(outcomes(), limit, CLOCK, run)
    first, second, *_ = [json.loads(line) for line in events.read_text().splitlines()]
    assert (first["cluster"], first["exit_code"]) == ("a", INCOMPLETE)
    assert (second["status"], second["exit_code"]) == ("failed", code)


@pytest.mark.parametrize(
    ("error", "code", "named"),
    [
        (KeyboardInterrupt(), 143, "KeyboardInterrupt"),
        (TableError("the JVM is gone"), 143, "KeyboardInterrupt"),  # as the interrupt ends the start of Spark
        (BrokenBarrierError(), FAILED, "BrokenBarrierError"),
    ],
)
def test_a_job_that_ends_before_its_first_cluster_has_an_event(
    events: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, named: str
) -> None:
    """While it imports or starts Spark: its log had a begin and no end, as that of a job that still runs."""
    monkeypatch.setattr(terminations, "terminations", [signal.SIGTERM])

    def run() -> int:
        if code != FAILED:
            error.__cause__ = KeyboardInterrupt()
        raise error

    with pytest.raises(type(error)):
        with_event(SNAPSHOT, run)
    (event,) = [json.loads(line) for line in events.read_text().splitlines()]
    assert (event["event"], event["cluster"], event["status"]) == ("run_finished", None, "failed")
    assert (event["exit_code"], event["error"]) == (code, named)


def test_an_interrupt_after_the_last_cluster_has_no_event(events: Path) -> None:
    """Each cluster has its own then."""

    def run() -> int:
        at_once(outcomes(), 1, CLOCK, lambda _: COMPLETE)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with_event(SNAPSHOT, run)
    assert [json.loads(line)["cluster"] for line in events.read_text().splitlines()] == list(NAMES)


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "refused"), Py4JError("An error occurred while calling o7.getVersion")]
)
def test_a_jvm_that_ends_is_one_line(events: Path, capsys: pytest.CaptureFixture[str], error: Exception) -> None:
    """The system kills it for want of memory, between any two calls: each call that nobody expects to fail was a traceback."""

    def run(outcome: RunOutcome | None = None) -> int:
        if outcome is None or outcome.cluster == "b":
            raise error
        return COMPLETE

    line = "the JVM that reads and writes the tables has ended"
    assert one_by_one(outcomes(), CLOCK, run) == [COMPLETE, FAILED, COMPLETE]
    assert [json.loads(event)["error"] for event in events.read_text().splitlines()] == [None, line, None]
    assert reported(run) == FAILED
    assert capsys.readouterr().err == f"lagoon: b: {line}\nlagoon: {line}\n"


IN_LITTLE_MEMORY = """
import resource, sys, threading
from kafka_lagoon.cli.terminal import reported
resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))
def run():
    threading.stack_size(1 << 30)
    threading.Thread(target=print).start() if sys.argv[1] == "thread" else bytearray(1 << 30)
sys.exit(reported(run))
"""


@pytest.mark.parametrize(("want", "line"), [("thread", "can't start new thread"), ("memory", "out of memory")])
def test_a_limit_of_the_process_is_one_line(want: str, line: str) -> None:
    """Limits of a service (LimitDATA, TasksMax) are for its owner to raise. `lagoon lag` ended with a traceback."""
    done = subprocess.run([sys.executable, "-c", IN_LITTLE_MEMORY, want], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (FAILED, "", 1)
    assert done.stderr.startswith(f"lagoon: {line}: see the limits")


MAIN = int(main_thread().ident or 0)


def send_signal() -> None:
    """Send SIGINT to the main thread: it ends the wait of that thread."""
    signal.pthread_kill(MAIN, signal.SIGINT)


@pytest.mark.parametrize("interrupt", [send_signal, interrupt_main])
def test_a_cluster_that_hangs_hides_no_other(
    events: Path,
    capsys: pytest.CaptureFixture[str],
    ends: list[Future[BaseException | None]],
    interrupt: Callable[[], None],
) -> None:
    """systemd and timeout end a run over many clusters because of one: those that have published have their lines and events.

    `interrupt_main` does not end a wait, as a signal that comes just before the wait: it was handled when the run had ended.
    """
    released = Event()

    def run(outcome: RunOutcome) -> int:
        if outcome.cluster == "a":
            wait_for_others(ends)
            CLOCK.sleep(0.05)  # until the main thread waits
            interrupt()
            assert released.wait(60)
        outcome.lines.append(f"{outcome.cluster} is done")
        return COMPLETE if outcome.cluster == "b" else INCOMPLETE

    with pytest.raises(KeyboardInterrupt):
        at_once(outcomes(), 3, CLOCK, run)
    finished = [json.loads(line) for line in events.read_text().splitlines()]
    released.set()
    assert capsys.readouterr().out == "b is done\nc is done\n"
    assert [(event["cluster"], event["status"], event["error"]) for event in finished] == [
        ("a", "failed", "KeyboardInterrupt"),
        ("b", "complete", None),
        ("c", "partial", None),
    ]


def test_ctrl_c_while_threads_start(
    events: Path, monkeypatch: pytest.MonkeyPatch, ends: list[Future[BaseException | None]]
) -> None:
    """A run that has ended by then has its event. It had none."""

    class Interrupted(Thread):
        def start(self) -> None:
            if ends[0].done():
                raise KeyboardInterrupt
            super().start()
            ends[0].result(60)

    def run(outcome: RunOutcome) -> int:
        if outcome.cluster != "a":
            released.wait(60)
        return COMPLETE

    released = Event()
    monkeypatch.setattr("kafka_lagoon.cli.outcome.Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        at_once(outcomes(), 3, CLOCK, run)
    released.set()
    first, *others = [json.loads(line) for line in events.read_text().splitlines()]
    assert (first["cluster"], first["status"]) == ("a", "complete")
    assert {(event["cluster"], event["error"]) for event in others} <= {("b", "KeyboardInterrupt")}


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_while_a_line_is_printed(
    events: Path, monkeypatch: pytest.MonkeyPatch, ends: list[Future[BaseException | None]], times: int
) -> None:
    """The reader of a pipe may hang: the others have their events all the same, and a second Ctrl-C ends the command."""
    printed = list[str]()

    def write(line: str) -> None:
        printed.append(line)
        if len(printed) <= times:
            raise KeyboardInterrupt

    def run(outcome: RunOutcome) -> int:
        if outcome.cluster == "a":
            wait_for_others(ends)
        outcome.lines.append(f"{outcome.cluster} is done")
        return COMPLETE

    monkeypatch.setattr("kafka_lagoon.cli.outcome.say", write)
    with pytest.raises(KeyboardInterrupt):
        at_once(outcomes(), 3, CLOCK, run)
    finished = [json.loads(line) for line in events.read_text().splitlines()]
    reported = NAMES if times == 1 else NAMES[:2]
    assert [event["cluster"] for event in finished] == list(reported)
    assert printed == [f"{name} is done" for name in reported]


@pytest.mark.parametrize(
    ("codes", "together"),
    [
        ((COMPLETE, COMPLETE), COMPLETE),
        ((COMPLETE, INCOMPLETE), INCOMPLETE),
        ((COMPLETE, FAILED), INCOMPLETE),
        ((INCOMPLETE, LOCKED, BAD_CONFIGURATION), INCOMPLETE),
        ((FAILED, LOCKED), FAILED),
        ((LOCKED,), LOCKED),
        ((), COMPLETE),
    ],
)
def test_exit_code_of_several_clusters(codes: tuple[int, ...], together: int) -> None:
    """A run over several clusters fails only if all of them fail."""
    assert worst_of_clusters(codes) == together


def test_a_lock_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The line names the cluster whose lock another run holds."""

    def run(outcome: RunOutcome) -> int:
        if outcome.cluster == "c":
            raise LockHeld("it", "process 1")
        return COMPLETE

    assert at_once(outcomes(), 2, CLOCK, run) == [COMPLETE, COMPLETE, LOCKED]
    assert capsys.readouterr().err.startswith("lagoon: c: ")


TWO_CLUSTERS = """
from kafka_lagoon.cli.terminal import Steps, say
with Steps("a", ["x", "y"]) as a, Steps("b", ["x", "y"]) as b:
    a.step("x", 5), b.step("y", 7_000)
    say("a line")
"""


def test_a_terminal_has_one_line_for_all_clusters() -> None:
    """The live line has the step of each cluster; other lines are printed whole, and the live line is removed at the end."""
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-c", TWO_CLUSTERS],
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=True,
        env={**os.environ, "TERM": "xterm"},  # words: ok, the variable of terminals
    )
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "a: step 1 of 2, x (5); b: step 2 of 2, y (7,000)" in shown
    assert shown.rstrip().endswith("\x1b[?25h") or shown.endswith("\x1b[2K")
    assert done.stdout == b"a line\n"


@pytest.mark.parametrize("limit", [1, 2])
def test_a_full_disk_of_standard_output_ends_no_cluster(
    events: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """cron.log may be on a full disk: every cluster is run and has its event and its status, and then the command fails."""

    def run(outcome: RunOutcome) -> int:
        outcome.lines.append(f"{outcome.cluster} is done")
        return COMPLETE

    made = outcomes()
    with Path("/dev/full").open("w") as full, monkeypatch.context() as redirected:
        redirected.setattr("sys.stdout", full)
        with pytest.raises(OutputFailed):
            at_once(made, limit, CLOCK, run)
        with suppress(OSError):
            full.close()
    assert [one.status for one in made] == ["complete"] * 3
    assert [json.loads(line)["cluster"] for line in events.read_text().splitlines()] == ["a", "b", "c"]
