"""A foreign commit is judged by its effect on rows, not by its author."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from kafka_lagoon.delta.foreign_commits import Commit, Contradiction, Kind, commit_of, commits_since, contradiction
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.errors import TableError


def log_of(operation: str | None, *actions: dict[str, Any], engine: str = "another", **info: Any) -> bytes:
    """Return a commit as an engine writes it."""
    lines = [{"commitInfo": {"operation": operation, "engineInfo": engine, **info}}, *actions]
    return "\n".join(map(json.dumps, lines)).encode()


ADD, REMOVE = {"add": {"path": "a", "dataChange": True}}, {"remove": {"path": "b", "dataChange": True}}
MOVED = ({"add": {"path": "a", "dataChange": False}}, {"remove": {"path": "b", "dataChange": False}})


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        (log_of("WRITE", ADD), Kind.ROWS),
        (log_of("WRITE", ADD, REMOVE), Kind.REPLACED),
        (log_of("CREATE OR REPLACE TABLE AS SELECT", REMOVE), Kind.REPLACED),
        (log_of(None, REMOVE), Kind.REPLACED),
        (log_of("something new", ADD, REMOVE), Kind.REPLACED),
        (log_of("WRITE", ADD, {"txn": {"appId": "theirs", "version": 1}}), Kind.ROWS),
        (log_of("WRITE", REMOVE, *MOVED), Kind.REPLACED),
        (log_of("DELETE", REMOVE), Kind.ROWS),
        *((log_of(name, ADD, REMOVE), Kind.ROWS) for name in ("DELETE", "UPDATE", "MERGE", "TRUNCATE")),
        (log_of("OPTIMIZE", *MOVED), Kind.HARMLESS),
        (log_of("something new", *MOVED), Kind.HARMLESS),
        (log_of("something new", *MOVED, operationParameters={"version": "of its own"}), Kind.HARMLESS),
        (log_of("VACUUM END"), Kind.HARMLESS),
        (log_of("SET TBLPROPERTIES", {"metaData": {"id": "x"}}), Kind.HARMLESS),
        (log_of("RESTORE"), Kind.RESTORED),
        (log_of("Manual Update", REMOVE, engine="Kernel-4.4.0/kafka-lagoon"), Kind.OURS),
        (log_of("DELETE", REMOVE, userMetadata="kafka-lagoon"), Kind.OURS),
        (log_of("WRITE", {"txn": {"appId": "lagoon/records/x", "version": 1}}, ADD), Kind.OURS),
        (json.dumps(REMOVE).encode(), Kind.REPLACED),
        (None, Kind.GONE),
    ],
)
def test_kinds(log: bytes | None, kind: Kind) -> None:
    """Commits are judged by their actions; an unknown operation is judged as strictly as an OVERWRITE."""
    assert commit_of(7, log).kind is kind


DOMAIN = {"domainMetadata": {"domain": "lagoon.x", "configuration": "{}", "removed": False}}


@pytest.mark.parametrize(
    ("actions", "engine", "expected"),
    [
        ((DOMAIN,), "Kernel-4.4.0/kafka-lagoon", True),
        ((DOMAIN,), "another", False),
        ((DOMAIN, ADD), "Kernel-4.4.0/kafka-lagoon", False),
        ((DOMAIN, {"txn": {"appId": "lagoon/records/x", "version": 1}}), "Kernel-4.4.0/kafka-lagoon", False),
        (MOVED, "Kernel-4.4.0/kafka-lagoon", False),
    ],
)
def test_commits_with_domains_alone(actions: tuple[dict[str, Any], ...], engine: str, *, expected: bool) -> None:
    """Only ours are known to say nothing about rows."""
    assert commit_of(7, log_of("WRITE", *actions, engine=engine)).has_only_domains is expected


@pytest.mark.parametrize(
    "log",
    [
        *(b"{", b"[1]", b"\xff", b'{"commitInfo": 5}', b'{"txn": {"appId": "a"}}', b'{"add": 5}', b"[" * 5_000),
        *(log_of("RESTORE", operationParameters={"version": "x"}), log_of("WRITE", timestamp="soon")),
    ],
)
def test_other_files_are_refused(log: bytes) -> None:
    """A file of a log that is no commit ends a run with one line."""
    with pytest.raises(TableError, match="version 7 of a table's log cannot be read"):
        commit_of(7, log)


def a_commit(version: int, kind: Kind = Kind.HARMLESS, to: int | None = None, **transactions: int) -> Commit:
    """Make a commit."""
    return Commit(version=version, kind=kind, restored_version=to, transactions=transactions)


RESTORED, REPLACED, ROWS, OURS = Kind.RESTORED, Kind.REPLACED, Kind.ROWS, Kind.OURS


@pytest.mark.parametrize(
    ("commits", "version", "rolled_back_to"),
    [
        ([a_commit(11, OURS, us=1), a_commit(12, ROWS), a_commit(13)], None, None),
        ([a_commit(11, RESTORED, 9), a_commit(12, OURS, us=1)], 11, 9),  # to a version before our commit
        ([a_commit(11, OURS, us=1), a_commit(12, RESTORED, 10)], 12, 10),  # undoes our commit
        ([a_commit(11, OURS, us=1), a_commit(12, ROWS), a_commit(13, RESTORED, 11)], None, None),  # undoes a DELETE
        ([a_commit(11), a_commit(12, OURS, us=1), a_commit(13, RESTORED, 10)], 13, 10),  # undoes ours and one before it
        ([a_commit(11, OURS, other=1), a_commit(12, RESTORED, 10)], None, None),  # undoes another engine's commit
        ([a_commit(11, RESTORED, 9), a_commit(12, RESTORED, 10)], None, None),  # undoes a RESTORE
        ([a_commit(11, RESTORED, 9), a_commit(12, RESTORED, 11)], 11, 9),  # to the state after a RESTORE
        ([a_commit(11, REPLACED), a_commit(12, OURS, us=1)], 11, None),
        ([a_commit(11, REPLACED), a_commit(12, REPLACED)], 12, None),
        ([a_commit(11, REPLACED), a_commit(12, RESTORED, 10)], None, None),
        ([a_commit(11, REPLACED), a_commit(12, RESTORED, 8)], 12, 8),
        ([a_commit(11, RESTORED, 8), a_commit(12, REPLACED)], 12, None),
        ([a_commit(11, RESTORED)], 11, None),  # to a time
        ([a_commit(11, Kind.GONE), a_commit(12)], 11, None),
        ([a_commit(11, Kind.GONE), a_commit(12, RESTORED, 10)], None, None),
        ([], None, None),
    ],
)
def test_contradictions(commits: list[Commit], version: int | None, rolled_back_to: int | None) -> None:
    """Version 10 and the commits of `us` must still be in effect."""
    cause = contradiction(commits, "us")
    assert (cause.commit.version if cause else None, cause.rolled_back_to if cause else None) == (
        version,
        rolled_back_to,
    )
    assert cause is None or isinstance(cause, Contradiction)


ROWS_OF = {"day": pa.array(["a", "a", "b"]), "number": pa.array([1, 2, 3])}


@pytest.mark.parametrize(
    ("operation", "kind", "said"),
    [
        (
            lambda path: DeltaTable(path).delete("number = 1"),
            Kind.ROWS,
            "had rows changed (version 2, DELETE by delta-rs",
        ),
        (lambda path: DeltaTable(path).update({"number": "0"}), Kind.ROWS, "UPDATE by delta-rs"),
        (
            lambda path: DeltaTable(path).restore(0),
            Kind.RESTORED,
            "was restored to version 0 (version 2, RESTORE by delta-rs",
        ),
        (lambda path: DeltaTable(path).optimize.compact(), Kind.HARMLESS, "OPTIMIZE"),
        (lambda path: write_deltalake(path, pa.table(ROWS_OF), mode="append"), Kind.ROWS, "WRITE"),
        (lambda path: write_deltalake(path, pa.table(ROWS_OF), mode="overwrite"), Kind.REPLACED, "had rows replaced"),
    ],
)
def test_commits_of_delta_rs(tmp_path: Path, operation: Callable[[str], object], kind: Kind, said: str) -> None:
    """Commits of another engine than Spark, as they are on disk."""
    path = str(tmp_path / "table")
    for _ in range(2):
        write_deltalake(path, pa.table(ROWS_OF), mode="append", partition_by=["day"])
    operation(path)
    made = commit_of(2, (tmp_path / "table" / "_delta_log" / f"{2:020d}.json").read_bytes())
    assert made.kind is kind
    assert said in str(made)


@pytest.mark.parametrize(
    ("log", "is_before"),
    [
        (log_of("WRITE", ADD, timestamp=999), True),
        (log_of("WRITE", ADD, timestamp=1000), False),
        (log_of("WRITE", ADD), False),
        (json.dumps(ADD).encode(), False),
        (None, True),
    ],
    ids=["older", "as old", "no time", "no commitInfo", "gone"],
)
def test_the_time_of_a_commit_may_be_missing(log: bytes | None, is_before: bool) -> None:
    """A commit without a time says nothing about those before it; one that is gone has none before it."""
    assert commit_of(7, log).is_before(1000) == is_before


def test_commits_after_one_without_content(tmp_path: Path) -> None:
    """A power cut leaves such a file, which Delta takes for a commit: the RESTORE after it is seen, and no time is known of it."""
    logs = {3: log_of("WRITE", ADD), 4: b"", 5: log_of("RESTORE", REMOVE)}
    (tmp_path / "_delta_log").mkdir()
    for version, log in logs.items():
        (tmp_path / "_delta_log" / f"{version:020d}.json").write_bytes(log)
    commits = commits_since(Storage(jvm=None, conf=None), f"file:{tmp_path}", 3)
    assert [(commit.version, commit.kind) for commit in commits] == [(4, Kind.HARMLESS), (5, Kind.RESTORED)]
    assert not commits[0].is_before(1000)
