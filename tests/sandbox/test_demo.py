"""The demo as `lagoon demo` runs it: its table has the expected rows of each group."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import pytest

from kafka_lagoon.errors import LockHeld, SandboxFailed
from kafka_lagoon.jars.locked_jars import cache_folder, jar_paths
from kafka_lagoon.sandbox import demo
from kafka_lagoon.sandbox.workload import ABORTED_RECORDS, EXPIRED, TOPICS
from kafka_lagoon.settings_sources import load

TYPE, STATE, MEMBERS, PARTITIONS, KNOWN, LAG_BEFORE, LAG, CHANGE, LOST = range(9)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the standard output of one run of the demo."""
    cache = tmp_path_factory.mktemp("cache")
    jar_paths("kafka-4.4.0")
    (cache / "jars").symlink_to(cache_folder().absolute() / "jars")
    run = subprocess.run(
        [Path(sys.executable).parent / "lagoon", "demo"],
        env={**os.environ, "LAGOON_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert (cache / "demo" / "brokers" / "broker-1" / "broker.log").stat().st_size > 0
    assert (cache / "demo" / "warehouse" / "snapshots" / "_delta_log").is_dir()
    return run.stdout


def group(shown: str, group_id: str) -> list[str]:
    """Return the columns after a group's name in the table of the demo."""
    return next(line.split()[1:] for line in shown.splitlines() if line.startswith(f"{group_id} "))


@pytest.mark.proof
@pytest.mark.kafka
@pytest.mark.spark
def test_both_snapshots_are_complete(shown: str) -> None:
    """Each run of the job prints its own line about the same cluster; the second one has the internal topic of transactions."""
    lines = [line for line in shown.splitlines() if line.startswith("default (") and "brokers" in line]
    health = "3 brokers, 1 partition with fewer in sync than min.insync.replicas"  # the topic with one replica
    assert [f"{health}, {topics} topics" in line for line, topics in zip(lines, (13, 14), strict=True)] == [True, True]
    assert all("INCOMPLETE" not in line for line in lines)


@pytest.mark.proof
@pytest.mark.kafka
@pytest.mark.spark
def test_both_ingests_archive_what_was_produced(shown: str) -> None:
    """All records are archived once: first those that exist (half of a topic is deleted), then the new ones."""
    lines = [line for line in shown.splitlines() if line.startswith("default (") and "records of" in line]
    first, second = (int(re.search(r"([\d,]+) records of", line)[1].replace(",", "")) for line in lines)
    deleted = next(one.records // 2 for one in TOPICS if one.name == EXPIRED)
    assert 0 <= first - (sum(one.records for one in TOPICS) - deleted) <= 1  # an odd number of records leaves one more
    assert second == sum(one.later for one in TOPICS)
    returns = [line.split() for line in shown.splitlines() if re.match(r"\s*2  returns ", line)]
    ((run, topic, partitions, offsets, records, control, aborted, *_),) = returns
    assert (run, topic, partitions, records, aborted) == ("2", "returns", "2", "100", str(ABORTED_RECORDS))
    assert int(offsets) == int(records) + int(control) + int(aborted)


@pytest.mark.proof
@pytest.mark.kafka
@pytest.mark.spark
def test_lag_changes_as_the_load_says(shown: str) -> None:
    """Active groups are at 0, a group that came back has caught up, and the others grew by the produced records."""
    assert group(shown, "billing")[: CHANGE + 1] == ["classic", "Stable", "2", "9", "9", "0", "0", "0"]
    assert group(shown, "fraud-check")[: CHANGE + 1] == ["consumer", "Stable", "1", "9", "9", "0", "0", "0"]
    assert group(shown, "recommendations")[: CHANGE + 1] == [
        "consumer",
        "Stable",
        "2",
        "12",
        "12",
        "3000",
        "12000",
        "9000",
    ]
    assert group(shown, "shipping")[: CHANGE + 1] == ["classic", "Empty", "0", "4", "4", "1000", "1800", "800"]
    analytics = group(shown, "analytics")
    assert analytics[LAG] == "0"
    assert int(analytics[CHANGE]) == -int(analytics[LAG_BEFORE]) < 0


@pytest.mark.proof
@pytest.mark.kafka
@pytest.mark.spark
def test_lag_without_commits_is_unknown(shown: str) -> None:
    """A group that never committed has no lag, rather than 0; a group whose unread records are deleted has lost them."""
    assert group(shown, "dashboard")[: CHANGE + 1] == ["classic", "Stable", "1", "2", "0", "null", "null", "null"]
    assert group(shown, "metrics-archive")[LOST] == "2000"


def test_second_demo_waits_its_turn(tmp_path: Path) -> None:
    """Two demos never share a folder: the second one reports the first and changes nothing."""
    with demo._alone_in(tmp_path), pytest.raises(LockHeld, match="another demo"), demo._alone_in(tmp_path):
        pass
    with demo._alone_in(tmp_path):
        pass


@pytest.mark.parametrize("taken", ["", "demo", "demo/lock/x"])
def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: str) -> None:
    """A line names the path and the setting; it was a traceback. A file has the name of a folder here, or the reverse."""
    path = tmp_path / "cache" / taken
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    monkeypatch.setenv("LAGOON_CACHE", str(tmp_path / "cache"))
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SandboxFailed, match=rf"{tmp_path}/cache.*: .*; LAGOON_CACHE can name another folder"):
            demo.run_demo()
    finally:
        signal.signal(signal.SIGTERM, before)


def test_tables_of_the_last_demo_are_gone(tmp_path: Path) -> None:
    """Also if their folder is a link, which stayed, with old tables; what the link leads to is not ours to remove."""
    (tmp_path / "large-disk" / "snapshots").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "large-disk")
    (tmp_path / "folder" / "snapshots").mkdir(parents=True)
    for name in ("link", "folder", "absent"):
        demo._remove(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["large-disk"]
    assert (tmp_path / "large-disk" / "snapshots").is_dir()


class Idle:
    """Stands for brokers and load that nobody needs."""

    bootstrap_servers = "127.0.0.1:1"

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def more_load(self) -> None:
        pass


@pytest.mark.parametrize("cache", ["cache", 'a "cache"'])
def test_the_tables_are_where_the_last_line_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cache: str
) -> None:
    """Also with a relative LAGOON_CACHE and odd names; the next demo removes the tables of the last one."""
    written: set[Path] = set()

    def run(*arguments: str) -> None:
        conf = Path(arguments[arguments.index("--conf") + 1])
        (folder := Path(str(load(conf, {}).warehouse))).mkdir(exist_ok=True)
        written.add(folder.absolute())

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAGOON_CACHE", cache)
    for name, value in (
        ("LocalKafka", Idle),
        ("Workload", Idle),
        ("cached_jars", list),
        ("jar_paths", list),
        ("_run", run),
    ):
        monkeypatch.setattr(demo, name, value)
    before = signal.getsignal(signal.SIGTERM)
    try:
        demo.run_demo()
    finally:
        signal.signal(signal.SIGTERM, before)
    (query,) = re.findall(r"^  (.* sql .*)$", capsys.readouterr().out, re.MULTILINE)
    hint = shlex.split(query)[3]
    assert written == {tmp_path / hint}
    (old := tmp_path / hint / "old").touch()
    demo._show(Path(cache) / "demo")
    assert not old.exists()


SLOW_END = """\
#!{python}
import os, signal, sys, time
def end(*_):
    time.sleep(0.6)
    os.write(1, b"ended in order\\n")  # a print within a print would be an error
    sys.exit({code})
signal.signal(signal.SIGINT, end)
os.write(1, b"started\\n")
time.sleep({seconds})
"""


@pytest.mark.parametrize(("code", "own_line"), [(130, ""), (0, "KeyboardInterrupt")])
def test_ctrl_c_lets_a_command_end(tmp_path: Path, code: int, own_line: str) -> None:
    """The demo ends after the command, whose line says that it was interrupted; if it was not, the demo says so."""
    command = tmp_path / "lagoon"
    command.write_text(SLOW_END.format(python=sys.executable, code=code, seconds=60))
    command.chmod(0o755)
    code_of_demo = (
        "import signal, sys; from pathlib import Path; from kafka_lagoon.sandbox import demo\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "demo._PROGRAMS = Path(sys.argv[1]); demo._run('snapshot')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code_of_demo, tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        assert run.stdout
        assert run.stdout.readline() == "started\n"
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        said, complaints = run.communicate(timeout=60)
    assert said == "ended in order\n"
    assert complaints.rstrip().rpartition("\n")[-1] == own_line
    assert run.returncode == (code or -signal.SIGINT)


SENT_AT_ONCE = """\
import os, signal, subprocess
class Popen(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        with open("started") as line: line.readline()
        os.kill(os.getpid(), signal.SIGTERM)
subprocess.Popen = Popen
"""


@pytest.mark.parametrize("at_once", [False, True])
def test_sigterm_lets_a_command_end(tmp_path: Path, at_once: bool) -> None:
    """SIGTERM that reaches the demo alone ends its command in order, and the demo after it; the command was killed.

    `at_once` it comes before the demo knows the command's process, which it left running.
    """
    command = tmp_path / "lagoon"
    os.mkfifo(tmp_path / "started")
    has_started = 'os.write(1, b"started\\n")'
    on_sigterm = SLOW_END.replace("signal.SIGINT", "signal.SIGTERM")
    if at_once:
        on_sigterm = on_sigterm.replace(has_started, 'open("started", "w").close()')
    command.write_text(on_sigterm.format(python=sys.executable, code=143, seconds=60))
    command.chmod(0o755)
    code_of_demo = (
        "import sys; from pathlib import Path; from kafka_lagoon.sandbox import demo\n"
        "demo._PROGRAMS, demo.cache_folder = Path(sys.argv[1]), lambda: Path(sys.argv[1])\n"
        "demo._show = lambda _: demo._run('snapshot'); demo.run_demo()"
    )
    program = SENT_AT_ONCE * at_once + code_of_demo
    with subprocess.Popen(
        [sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as run:
        assert run.stdout
        if not at_once:
            assert run.stdout.readline() == "started\n"
            run.terminate()
        assert run.communicate(timeout=60)[0] == "ended in order\n"
    assert run.returncode == 128 + signal.SIGTERM
