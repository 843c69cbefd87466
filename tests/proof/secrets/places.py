"""The places in which a secret could be, and what a run has left in each of them."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from tests.proof.secrets.watch import File, Processes, variables

# What is read for each place.
PLACES: Mapping[str, str] = {
    "stdout": "standard output of the command: of spark-submit, its driver and local executors",
    "stderr": "standard error of the same",
    "executor output": "standard output and error of executors that are processes of their own",
    "tracebacks": "Python's tracebacks and Java's stack traces, wherever one of these outputs has them",
    "log file": "the events that --log-file writes",
    "event log": "Spark's event log",
    "web pages": "Spark's UI and REST API while the job runs",
    "query plans": "plans of a query as `explain` prints them, in every mode",
    "delta log": "commits and checkpoints of all tables, rows of checkpoints as values",
    "data files": "Parquet files of the tables, as bytes and as the values that pyarrow reads",
    "pending files": "pending files, locks, staging folders and probes beside the tables",
    "blocks": "shuffle, cache, spill and broadcast files of Spark, uncompressed",
    "temporary files": "every file that existed below the temporary folder, of Python and of Java",
    "command lines": "/proc/PID/cmdline of every process of the run, at any time",
    "environments": "/proc/PID/environ of the same, without the variables in which the user has put the secret",
    "memory of JVMs": "the writable memory of driver and executors while a task runs, for a secret that only Python reads",
    "crash files": "core dumps and error files of a JVM in the folder in which the run was started",
    "page": "the HTML page of `lagoon report`",
    "metrics": "files for Prometheus, and what `lagoon metrics` prints",
    "caches": "the home folder and the cache folder: histories, completion, compiled kernels",
    "broker log": "the requests as Kafka's request log has them (client id, principal, request), and the broker's own log",
    "desired state": "files that `lagoon import` writes, and plans as JSON",
    "other files": "whatever else is in the folder of the run: checkpoints of streams, outputs",
}
# Folders below that of a run.
WATCHED = frozenset({"left", "tmp", "local", "home", "cache", "cwd", "events"})
_TRACES = re.compile(
    rb"Traceback \(most recent call last\).*?(?=\n\{|\Z)|(?:^\s+at [^\n]*\n|Caused by:[^\n]*\n)+",
    re.DOTALL | re.MULTILINE,
)

Evidence = dict[str, list[tuple[str, bytes]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The folders of a run."""

    folder: Path

    @property
    def made(self) -> Path:
        """The folder of what the run makes: tables, outputs."""
        return self.folder / "left"

    def made_file(self, name: str) -> Path:
        """A file or folder of that folder."""
        return self.made / name

    def make(self) -> None:
        """Create its folders."""
        for name in (*WATCHED, "left/metrics"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)


@dataclass(slots=True, kw_only=True)
class Observed:
    """A run that has ended, with everything that was seen of it."""

    name: str
    exit_code: int
    stdout: bytes
    stderr: bytes
    left: Left
    files: Sequence[File]
    processes: Processes
    given: Mapping[str, str]  # variables in which the user has put secrets
    executors: list[Path] = field(default_factory=list)  # work folders of executors
    broker_log: bytes = b""

    def evidence(self) -> Evidence:
        """Return what is in each place."""
        evidence: Evidence = {place: [] for place in PLACES}
        outputs = [("stdout", self.stdout), ("stderr", self.stderr)]
        for folder in self.executors:
            outputs += [
                (f"executor {path.parent.name} {path.name}", path.read_bytes()) for path in folder.rglob("std*")
            ]
        for where, content in outputs:
            evidence[where if where in PLACES else "executor output"].append((where, content))
            evidence["tracebacks"] += [(where, trace) for trace in _TRACES.findall(content)]
        for file in self.files:
            place = self._place(file.path)
            evidence[place] += _contents(file)
        evidence["command lines"] = [("cmdline", line) for line in self.processes.command_lines.values()]
        evidence["environments"] = [
            (command.replace(b"\0", b" ").decode(errors="replace")[:80], variables(environment, self.given))
            for command, environment in self.processes.environments.values()
        ]
        evidence["web pages"] += [(page, body) for (page, _), body in self.processes.pages.items()]
        evidence["broker log"].append(("request log", self.broker_log))
        return evidence

    @staticmethod
    def _place(path: Path) -> str:
        parts = path.parts
        if parts[0] != "left":
            folders = {
                "tmp": "temporary files",
                "home": "caches",
                "cache": "caches",
                "cwd": "crash files",
                "events": "event log",
            }
            if parts[0] == "local":
                return "blocks" if any(part.startswith("blockmgr-") for part in parts) else "temporary files"
            return folders[parts[0]]
        inside = parts[1:]
        if inside[0] == "lake":
            return _place_in_tables(inside)
        named = {"report.html": "page", "log": "log file", "metrics": "metrics", "plans": "query plans"}
        if inside[0] in named:
            return named[inside[0]]
        return "desired state" if inside[0].startswith(("import.", "plan.")) else "other files"


def _place_in_tables(parts: tuple[str, ...]) -> str:
    if "_delta_log" in parts:
        return "delta log"
    if parts[-1].endswith(".parquet") and not {"_lagoon", "_staging"} & set(parts):
        return "data files"
    return "pending files"


def _contents(file: File) -> Iterator[tuple[str, bytes]]:
    """Return a file's bytes and, of Parquet, its values and metadata."""
    yield str(file.path), file.content
    if file.content[:4] == b"PAR1" == file.content[-4:]:
        read = pq.ParquetFile(io.BytesIO(file.content))
        values = b"\n".join(_values(read))
        yield f"values of {file.path}", values


def _values(read: pq.ParquetFile) -> Iterator[bytes]:
    for group in range(read.num_row_groups):
        for column in read.read_row_group(group).columns:
            for value in column.to_pylist():
                yield from _flat(value)
    for key, value in (read.metadata.metadata or {}).items():
        yield key + b"=" + value


def _flat(value: object) -> Iterator[bytes]:
    match value:
        case None:
            return
        case bytes():
            yield value
        case dict():
            for part in value.values():
                yield from _flat(part)
        case list() | tuple():
            for part in value:
                yield from _flat(part)
        case _:
            yield str(value).encode()
