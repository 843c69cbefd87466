"""Shows what the jobs make of a real cluster: `lagoon demo` runs snapshots and ingests before and after a change and compares.

Jobs and SQL run as commands, as a user runs them. The brokers are stopped at the end; the tables and the brokers' logs stay
until the next run.
"""

import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kafka_lagoon.deferred_signals import deferred_signals
from kafka_lagoon.errors import LockHeld, SandboxFailed
from kafka_lagoon.jars.locked_jars import cache_folder, cached_jars, jar_paths
from kafka_lagoon.sandbox.kafka import DEFAULT_VERSION, LocalKafka
from kafka_lagoon.sandbox.workload import RETURNING, TOPICS, Workload

_SPARK_SETTINGS = Path(__file__).resolve().parents[1] / "conf"
_PROGRAMS = Path(sys.executable).parent  # lagoon lies beside the python of its environment
_INTERRUPTED = 128 + signal.SIGINT
_END_TIMEOUT_S = 30  # for a command that Ctrl-C ends
_CACHE = "LAGOON_CACHE"  # of all settings in the environment the only one that is not about another cluster

_LAG = """
SELECT
  now.group_id,
  now.group_type AS type,
  now.state,
  now.members,
  now.partitions,
  now.known_partitions AS known,
  before.lag AS lag_before,
  now.lag,
  now.lag - before.lag AS change,
  now.records_lost AS lost,
  CASE WHEN now.lag > 0 THEN now.worst_topic ELSE '' END AS worst_topic
FROM lag_by_group AS now
LEFT JOIN (
  SELECT group_id, sum(lag) AS lag
  FROM consumer_lag_published
  WHERE slot < (SELECT max(slot) FROM snapshots)
  GROUP BY group_id
) AS before ON before.group_id = now.group_id
ORDER BY now.lag DESC NULLS LAST, now.group_id
"""

_RANGES = """
SELECT
  CASE WHEN ingest_id = (SELECT min(ingest_id) FROM record_ranges) THEN 1 ELSE 2 END AS run,
  topic,
  count(*) AS partitions,
  sum(to_offset - from_offset) AS offsets,
  sum(records) AS records,
  sum(control) AS control,
  sum(aborted) AS aborted,
  sum(compacted) AS compacted,
  sum(lost) AS lost,
  min(from_offset) AS from_offset,
  max(to_offset) AS to_offset
FROM record_ranges
GROUP BY ingest_id, topic
ORDER BY ingest_id, topic
"""

_ORDERS = """
SELECT
  partition,
  count(*) AS records,
  count(DISTINCT key) AS keys,
  max(offset) AS last_offset,
  max_by(key, offset) AS last_key,
  max_by(value, offset) AS last_value
FROM records
WHERE topic = 'orders'
GROUP BY partition
ORDER BY partition
"""

_WHAT_IT_SHOWS = """
billing and fraud-check keep up. analytics had no members, got some between the two snapshots and caught up.
bookkeeping and recommendations have live members that read nothing. shipping and audit-export have no members.
metrics-archive lost records: they were deleted before it read them.
dashboard has partitions and no commit, so its lag is unknown, which is not 0.
The second ingest began where the first ended. Offsets = records + control + aborted + compacted + lost, always; in returns,
a transaction was aborted: its offsets are counted, its records are not in the table."""


def run_demo() -> None:
    """Run the demo; LockHeld while another one runs, other errors of the pipeline if a step fails."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends as Ctrl-C does
    folder, started = cache_folder() / "demo", time.monotonic()
    with _alone_in(folder):
        _show(folder)
    _say(_WHAT_IT_SHOWS)
    _say(f"\n{time.monotonic() - started:.0f} s in all. The tables stay until the next demo; query them:")
    warehouse = ("--warehouse", _short(folder / "warehouse"))
    _say(f"  {shlex.join([_short(_PROGRAMS / 'lagoon'), 'sql', *warehouse, 'FROM consumer_lag_published'])}")
    _say(f"The report, for a browser: {(folder / 'report.html').absolute().as_uri()}")


def _show(folder: Path) -> None:
    warehouse, brokers, conf = folder / "warehouse", folder / "brokers", folder / "demo.toml"
    with _writable(folder):
        _remove(warehouse)
        _remove(brokers)
        (folder / "events.jsonl").unlink(missing_ok=True)
    common = ("--conf", _short(conf), "--log-file", _short(folder / "events.jsonl"))
    snapshot, ingest = ("snapshot", *common), ("ingest", *common, "--pattern", ".*")
    report = ("report", *common, "--out", _short(folder / "report.html"), "--title", "The demo")
    jars = f"kafka-{DEFAULT_VERSION}"
    if not cached_jars(jars):
        with _step(f"download of Kafka {DEFAULT_VERSION}, once"):
            jar_paths(jars)
    with ExitStack() as running:
        with _step(f"three brokers of Kafka {DEFAULT_VERSION}"):
            kafka = running.enter_context(LocalKafka(brokers, brokers=3, racks=("a", "b", "c")))
        place = f'warehouse = "{warehouse.name}"  # beside this file\ncreate = true\n'
        conf.write_text(f'{place}\n[kafka]\nbootstrap_servers = "{kafka.bootstrap_servers}"\n')
        with _step(
            f"{len(TOPICS)} topics, {sum(topic.records for topic in TOPICS):,} records, consumer groups of all kinds"
        ):
            workload = running.enter_context(Workload(kafka.bootstrap_servers))
        _job(*snapshot)
        _job(*ingest)
        with _step(f"{sum(topic.later for topic in TOPICS):,} more records, and group {RETURNING.group_id} is back"):
            workload.more_load()
        _job(*snapshot)
        _job(*ingest)
    _job(*report)
    for what, statement in (("lag", _LAG), ("what both ingests read", _RANGES), ("the archived orders", _ORDERS)):
        with _step(f"lagoon sql: {what} (the brokers are gone, the tables answer)"):
            _run("sql", "--conf", str(conf), statement)


def _job(*arguments: str) -> None:
    with _step(shlex.join(["lagoon", *arguments])):
        _run(*arguments)


def _run(*arguments: str) -> None:
    """Run `lagoon` of this environment as its user would, with its output on ours."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LAGOON_") or name == _CACHE}
    environ |= {
        "SPARK_CONF_DIR": str(_SPARK_SETTINGS),
        "SPARK_LOCAL_IP": "127.0.0.1",  # host names of laptops resolve to anything
    }
    code = _exit_code([_PROGRAMS / "lagoon", *arguments], environ)
    if code == _INTERRUPTED:
        sys.exit(_INTERRUPTED)  # the command has printed the line that says so
    if code:
        raise SandboxFailed(f"lagoon {arguments[0]} ended with exit code {code}")


def _exit_code(command: Sequence[Path | str], environ: Mapping[str, str]) -> int:
    """Run a command and wait for it, also after Ctrl-C and SIGTERM, by which the command ends in order.

    The terminal sends Ctrl-C to the command, too; SIGTERM may have reached this process alone.
    """
    with ExitStack() as at_end:
        try:
            with deferred_signals():
                run = at_end.enter_context(subprocess.Popen(command, env=environ))  # noqa: S603  as a user runs it
                at_end.callback(run.kill)  # does nothing if the command has ended
            return run.wait()
        except KeyboardInterrupt:
            if run.wait(_END_TIMEOUT_S) == _INTERRUPTED:
                return _INTERRUPTED
            raise
        except SystemExit:
            run.terminate()
            run.wait(_END_TIMEOUT_S)
            raise


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold the demo's folder; LockHeld while another demo runs in it."""
    with _writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    with lock as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LockHeld(str(folder), "another demo") from error
        yield


def _remove(old: Path) -> None:
    """Remove what the last demo has left: its tables would be mixed with those of this one. A link's folder stays."""
    if old.is_dir() and not old.is_symlink():
        shutil.rmtree(old)
    else:
        old.unlink(missing_ok=True)


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """Turn errors of files into SandboxFailed, which names the setting of the folder."""
    try:
        yield
    except OSError as error:
        path = error.filename or folder
        raise SandboxFailed(f"{path}: {error.strerror}; {_CACHE} can name another folder") from error


@contextmanager
def _step(title: str) -> Iterator[None]:
    _say(f"\n> {title}")
    started = time.monotonic()
    yield
    _say(f"  {time.monotonic() - started:.1f} s")


def _short(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201  a command's own lines, between those of what it runs
