"""The jobs of a history: processes that are killed and frozen, and runs at the end that nothing disturbs."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.integration.restore_process import Process, members, send
from tests.jobs.commands import ROOT, environment, run
from tests.jobs.processes import Job, running
from tests.proof.clocks import Clocks
from tests.proof.evidence import Partition, Run
from tests.proof.lake import Lake

USER, PASSWORD, PASSWORD_NAME = "lagoon", "Xk3-proof-canary-9157", "PROOF_PASSWORD"
ENDS_WITHIN_S = 300
USAGE, TEMPORARY = "usage.json", "tmp"  # of a job that is measured
LAUNCHER = Path(__file__).parent / "soak" / "launcher.py"
START = "start"  # as soon as the process is there
SINK = "sink"
RECORDED = "recorded"  # actions of an alteration are rows, and are sent
_POLL_S = 0.01
# As in tests that repeat tasks: the quick compiler, for a JVM that lives for seconds.
_OPTIONS = '--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"'
_MASTERS = {"local": "local[2]", "repeating": "local[2,4]", "cluster": "local-cluster[2,1,1024]"}


_ENVIRONMENT = {  # of the runs at the end
    "PYSPARK_SUBMIT_ARGS": f"--master {_MASTERS['local']} {_OPTIONS} pyspark-shell",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Places of the jobs of a history: the brokers' addresses, its tables, a folder for files, the prefix of all its names."""

    bootstrap_servers: str
    lake: Lake
    folder: Path
    prefix: str
    started_at: float

    def settings(self) -> list[str]:
        """Make options of every job that asks brokers, with waits that are short enough for faults of seconds."""
        values = {
            "kafka.bootstrap_servers": self.bootstrap_servers,
            "kafka.security_protocol": "SASL_PLAINTEXT",
            "kafka.sasl_mechanism": "SCRAM-SHA-512",
            "kafka.sasl_username": USER,
            "kafka.sasl_password": f"env:{PASSWORD_NAME}",
            "kafka.allow_plaintext_credentials": "true",
            "kafka.request_timeout_ms": "5000",
            "kafka.socket_connection_setup_timeout_ms": "2000",
            "kafka.default_api_timeout_ms": "20000",
            "ingest.stall_timeout_ms": "15000",
            "ingest.plan_timeout_ms": "60000",
            "snapshot.deadline_ms": "60000",
            "snapshot.topics": f"{self.prefix}.*",
            "snapshot.groups": f"{self.prefix}.*",
        }
        return [f"--set={name}={value}" for name, value in values.items()]

    def _of_cluster(self, name: str) -> list[str]:
        """Make the same options about a cluster of `[clusters]`."""
        return [setting.replace("=kafka.", f"=clusters.{name}.") for setting in self.settings()]

    def restored(self, topic: str) -> str:
        """Name the topic that a restore writes: no ingest and no snapshot of the history reads it."""
        return f"restored-{topic}"

    def arguments(self, job: str, **options: Any) -> list[str]:
        """Make the command line of a job after `lagoon`."""
        warehouse = ["--warehouse", self.lake.location]
        local_max_bytes = 0 if options.get("by_executors", True) else 256 << 20
        match job:
            case "ingest":
                sizes = {
                    "max_partition_fetch_bytes": options.get("fetch_kb", 8192) << 10,
                    "task_mb": options.get("task_mb", 256),
                    "local_max_bytes": local_max_bytes,
                }
                chosen = [
                    "--pattern",
                    f"{self.prefix}.*",
                    *(f"--set=ingest.{name}={size}" for name, size in sizes.items()),
                ]
                after = options.get("after_restore")
                return [job, *warehouse, *self.settings(), *chosen, *(["--after-restore", after] if after else [])]
            case "snapshot":
                slot = time.gmtime(self.started_at - 60 * options.get("slot", 0))
                return [job, *warehouse, *self.settings(), "--slot", time.strftime("%Y-%m-%dT%H:%M:%S", slot)]
            case "maintain":
                forced = ["--keep-hours", "0", "--force"] if options.get("keep_hours") == 0 else []
                return [job, *warehouse, *forced, *(f"--set={one}" for one in options.get("settings", ()))]
            case "restore":
                named = [*self._of_cluster("spare"), f"--set=restore.local_max_bytes={local_max_bytes}"]
                rename = f"{options['topic']}={options.get('target') or self.restored(options['topic'])}"
                clusters = ["--from-cluster", "default", "--to-cluster", "spare"]
                return [job, *warehouse, *named, *clusters, "--topics", options["topic"], "--rename", rename, "--yes"]
            case "apply":
                return [job, str(options["file"]), *warehouse, *self.settings(), "--yes", "--allow-deletions"]
            case "sink":
                return [sys.executable, "-m", "tests.proof.sink", self.bootstrap_servers, *options["words"]]
            case "compare":
                sides = [f"records@default:{options['topic']}", f"default:{options['target']}"]
                return [job, *warehouse, *self._of_cluster("default"), *sides]
        raise ValueError(job)


class Jobs:
    """The jobs of a history that were started, and all runs that have ended."""

    def __init__(self, place: Place, clocks: Clocks | None = None) -> None:
        self.runs: list[Run] = []
        self._place, self._clocks = place, clocks
        self.password = PASSWORD  # of jobs that start
        self._running: list[Started] = []
        self._frozen: list[Started] = []

    def start(
        self,
        job: str,
        acknowledged: Mapping[Partition, int],
        by: str,
        master: str,
        measured: Path | None = None,
        **options: Any,
    ) -> "Started":
        """Start a job in the background; `measured` is a folder for what it used and for its temporary files."""
        arguments = self._place.arguments(job, **options)
        lake = self._place.lake
        script = ["--master", _MASTERS[master], *lake.submit_options(), str(ROOT / "jobs" / f"{job}.py")]
        command = ["lagoon", *arguments] if by == "lagoon" else ["spark-submit", *script, *arguments[1:]]
        if job == SINK:
            command = [*arguments, _MASTERS[master]]
        environ = {PASSWORD_NAME: self.password, **lake.environ(), **self._clock(options.get("days_later", 0))}
        if by == "lagoon":
            environ["PYSPARK_SUBMIT_ARGS"] = f"--master {_MASTERS[master]} {_OPTIONS} pyspark-shell"
        if measured is not None:
            command = [sys.executable, "-S", str(LAUNCHER), str(measured / USAGE), *command]
            environ["TMPDIR"] = str(measured / TEMPORARY)
        context = running(command, environment(**environ), lake.folder)
        started = Started(job, context, acknowledged, lake, options)
        self._running.append(started)
        return started

    def _clock(self, days_later: int) -> Mapping[str, str]:
        return self._clocks.environment(days_later) if self._clocks else {}

    def is_running(self, job: str | None = None) -> bool:
        """Return True if a job of this name runs, or any."""
        return any(one.process.poll() is None and job in (None, one.name) for one in self._running)

    def signalled(self, job: str, whom: str, number: signal.Signals, step: str, ms: int, chance: random.Random) -> bool:
        """Send a signal to a process of a running job, some time after it began a step; return True if it was there."""
        for started in list(self._running):
            if started.name == job and started.process.poll() is None and started not in self._frozen:
                if not started.waits_for(step, ms):
                    return False
                victims = started.victims(whom)
                if whom in ("worker", "executor"):
                    victims = started.one_of(whom, chance)
                if number is signal.SIGSTOP:
                    self._frozen.append(started)
                started.is_signalled |= bool(victims)
                for victim in victims:
                    send(victim, number)
                return bool(victims)
        return False

    def forget(self, topic_id: str) -> None:
        """Expect no longer that running jobs read a topic."""
        for started in self._running:
            started.forget(topic_id)

    def thaw(self) -> None:
        """Continue what was stopped."""
        for started in self._frozen:
            for victim in started.victims("group"):
                send(victim, signal.SIGCONT)
        self._frozen = []

    def wait_beside_faults(self, seconds: int) -> None:
        """Wait until no job runs, or so long; what was stopped stays so."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and any(
            one.process.poll() is None for one in self._running if one not in self._frozen
        ):
            time.sleep(_POLL_S)

    def wait(self) -> bool:
        """Wait until no job runs; return False if one had to be killed because it did not end."""
        self.thaw()
        ended = [started.end() for started in self._running]
        self.runs += [started.run() for started in self._running]
        self._running = []
        return all(ended)

    def end(self, started: "Started") -> Run:
        """Wait until a job has ended, or kill it; return its run."""
        started.end()
        self._running.remove(started)
        self.runs.append(started.run())
        return self.runs[-1]

    def undisturbed(self, job: str, acknowledged: Mapping[Partition, int], **options: Any) -> Run:
        """Run a job to its end; an ingest or a restore runs its tasks in the process of its driver."""
        started_at_ms = _now_ms()
        environ = {**_ENVIRONMENT, **self._place.lake.environ(), PASSWORD_NAME: self.password}
        environ |= self._clock(options.get("days_later", 0))
        arguments = self._place.arguments(job, by_executors=False, **options)
        done = run([*arguments, _MASTERS["local"]] if job == SINK else ["lagoon", *arguments], **environ)
        ended = _run(job, done.returncode, done.stdout + done.stderr, acknowledged, started_at_ms, _now_ms())
        self.runs.append(replace(ended, options=options))
        return self.runs[-1]


class Started:
    """A process of a job; `is_signalled` if a fault has killed or stopped processes of it."""

    def __init__(
        self,
        name: str,
        context: AbstractContextManager[Job],
        acknowledged: Mapping[Partition, int],
        lake: Lake,
        options: Mapping[str, Any],
    ) -> None:
        self.name, self._context, self._acknowledged, self._lake = name, context, acknowledged, lake
        self._options = options
        self.started_at_ms = _now_ms()
        self._job = context.__enter__()
        self.ended_at_ms = 0
        self.is_signalled = False
        self._commits_before = self._commits()

    def _commits(self) -> int:
        """Count the commits of admin_actions."""
        return self._lake.commits("admin_actions")

    def _begins(self, step: str) -> bool:
        """Return True if a run has begun a step: by its log, or if it is about to send what it has recorded."""
        return self._commits() > self._commits_before if step == RECORDED else self._job.begins(step)

    @property
    def process(self) -> subprocess.Popen[str]:
        return self._job.process

    def forget(self, topic_id: str) -> None:
        kept = {partition: end for partition, end in self._acknowledged.items() if partition.topic_id != topic_id}
        self._acknowledged = kept

    def waits_for(self, step: str, ms: int) -> bool:
        """Wait until the log has a step (START: the process is there) and some time has passed; False if the job has ended."""
        deadline = time.monotonic() + ENDS_WITHIN_S
        while self.process.poll() is None and step != START and not self._begins(step):
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        until = time.monotonic() + ms / 1000
        while self.process.poll() is None and time.monotonic() < until:
            time.sleep(_POLL_S)
        return self.process.poll() is None

    def victims(self, whom: str) -> list[int]:
        """Return the processes of a kind: group (all of them), driver (Python), jvm, worker, executor."""
        processes = list(members(self.process.pid))
        daemons = {one.pid for one in processes if b"pyspark.daemon" in one.command}
        kinds: dict[str, Callable[[Process], bool]] = {
            "group": lambda _: True,
            "driver": lambda process: (
                _is_python(process) and not daemons & {process.pid, process.parent} and not _is_launcher(process)
            ),
            "jvm": lambda process: _is_java(process) and b"CoarseGrainedExecutorBackend" not in process.command,
            "worker": lambda process: process.parent in daemons,
            "executor": lambda process: _is_java(process) and b"CoarseGrainedExecutorBackend" in process.command,
        }
        return [one.pid for one in processes if kinds[whom](one)]

    def one_of(self, whom: str, chance: random.Random) -> list[int]:
        """Wait for processes that the driver starts for its tasks, and choose one; none if the job ends before."""
        deadline = time.monotonic() + ENDS_WITHIN_S
        while not (victims := self.victims(whom)):
            if self.process.poll() is not None or time.monotonic() > deadline:
                return []
            time.sleep(_POLL_S)
        return [chance.choice(victims)]

    def end(self) -> bool:
        """Wait for its end, and kill what is left of it then: only a driver that died itself leaves processes."""
        try:
            self.process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._end()
            return False
        self._end()
        return True

    def _end(self) -> None:
        self.ended_at_ms = _now_ms()
        for victim in self.victims("group"):
            send(victim, signal.SIGKILL)
        self._context.__exit__(None, None, None)

    def run(self) -> Run:
        """Describe the run; it has ended."""
        code = self.process.returncode
        output = "".join(self._job.output)
        ended = _run(self.name, code, output, self._acknowledged, self.started_at_ms, self.ended_at_ms)
        return replace(ended, options=self._options)


def _is_java(process: Process) -> bool:
    return process.command.split(b"\0")[0].endswith(b"java")


def _is_launcher(process: Process) -> bool:
    return str(LAUNCHER).encode() in process.command.split(b"\0")


def _is_python(process: Process) -> bool:
    return b"python" in process.command.split(b"\0")[0]


def _run(
    job: str, code: int, output: str, acknowledged: Mapping[Partition, int], started_at_ms: int, ended_at_ms: int
) -> Run:
    event: Mapping[str, Any] = {}
    for line in output.splitlines():
        if line.startswith("{") and '"run_finished"' in line:
            event = json.loads(line)
    return Run(
        job=job,
        exit_code=code,
        started_at_ms=started_at_ms,
        ended_at_ms=ended_at_ms,
        output=output,
        event=event,
        acknowledged=acknowledged,
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
