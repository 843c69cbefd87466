"""Judges what others have committed to a table between two versions: RESTORE, OVERWRITE, DELETE, appends and what is harmless.

A commit is judged by its actions: one that removes files and changes data (`dataChange`) has removed or replaced rows. The name
of the operation, which engines choose, only excuses those that remove rows on purpose (DELETE, UPDATE, MERGE, TRUNCATE). What
rearranges files (OPTIMIZE), VACUUM, properties, and all commits of ours are harmless.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from enum import StrEnum
from typing import Any

from kafka_lagoon.delta.log_files import commit_url
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.stored_json import reading
from kafka_lagoon.frozen import frozen

ENGINE_INFO = "kafka-lagoon"
_OUR_APPLICATIONS = "lagoon/"  # the prefix of the application ids of all our transactions
_ROW_OPERATIONS = frozenset({"DELETE", "UPDATE", "MERGE", "TRUNCATE"})
_RESTORE = "RESTORE"
CLOCKS_DIFFER_MS = 3_600_000  # commits have the time of their writer's clock
_READ_AT_ONCE = 16  # commits; on object stores each is a request
_OF_A_FILE: Mapping[str, Any] = {"add": None}  # stands for any action about a file whose content is not read


class Kind(StrEnum):
    """The effect of a commit on readers that rely on the rows of a table."""

    OURS = "ours"
    HARMLESS = "harmless"
    ROWS = "rows"  # rows were added, changed or deleted on purpose
    REPLACED = "replaced"
    RESTORED = "restored"
    GONE = "gone"  # its log file is gone, so its content is unknown


@frozen
class Commit:
    """A commit of a table's log.

    `at_ms` is the time by the writer's clock, 0 if the commit has none. `restored_version` is the version that a RESTORE went
    back to, `transactions` are versions by application id. `has_only_domains` is true if the commit is ours and sets only
    domain metadata.
    """

    version: int
    kind: Kind
    at_ms: int = 0
    operation: str = ""
    engine: str = ""
    restored_version: int | None = None
    transactions: Mapping[str, int] = field(default_factory=dict)
    has_only_domains: bool = False

    def is_before(self, time_ms: int) -> bool:
        """True if this commit and all earlier ones are from before `time_ms`: by its time, or because its log file is gone.

        False if the commit has no time, which Delta's protocol allows.
        """
        return self.kind is Kind.GONE or 0 < self.at_ms < time_ms

    def __str__(self) -> str:
        """A description of the commit for messages."""
        by = f"version {self.version}, {self.operation or 'no operation'} by {self.engine or 'an unknown engine'}"
        if self.kind is Kind.RESTORED:
            target = "a time" if self.restored_version is None else f"version {self.restored_version}"
            return f"was restored to {target} ({by})"
        return f"had rows replaced ({by})" if self.kind is Kind.REPLACED else f"had rows changed ({by})"


@frozen
class Contradiction:
    """A commit after which the table lacks rows that are relied on.

    `rolled_back_to` is the version whose rows the table has beside those of later commits; None if no version is known for
    it.
    """

    commit: Commit
    rolled_back_to: int | None = None


def commit_of(version: int, log: bytes | None) -> Commit:
    """Read a commit from its file in the log, None if the file is gone; TableError if it holds something else."""
    if log is None:
        return Commit(version=version, kind=Kind.GONE)
    with reading(f"version {version} of a table's log"):
        return _commit_of(version, log)


def _commit_of(version: int, log: bytes) -> Commit:
    info: Mapping[str, Any] = {}
    transactions: dict[str, int] = {}
    adds = removes = False
    names = set[str]()
    for action in _actions(log):
        names.update(action)
        info = action.get("commitInfo") or info
        if transaction := action.get("txn"):
            transactions[transaction["appId"]] = transaction["version"]
        adds = adds or bool((action.get("add") or {}).get("dataChange"))
        removes = removes or bool((action.get("remove") or {}).get("dataChange"))
    operation = str(info.get("operation") or "")
    restored = (info.get("operationParameters") or {}).get("version") if operation == _RESTORE else None
    kind = _kind(info, operation, transactions, adds=adds, removes=removes)
    return Commit(
        version=version,
        kind=kind,
        at_ms=int(info.get("timestamp") or 0),
        operation=operation,
        engine=str(info.get("engineInfo") or info.get("clientVersion") or ""),
        restored_version=None if restored is None else int(restored),
        transactions=transactions,
        has_only_domains=kind is Kind.OURS and names <= {"commitInfo", "domainMetadata"},
    )


def _actions(log: bytes) -> Iterator[Mapping[str, Any]]:
    """The actions of a commit. In our own commits, which may have thousands of files, actions about files are not parsed."""
    is_ours = False
    for line in log.splitlines():
        if is_ours and line.startswith((b'{"add"', b'{"remove"')):
            yield _OF_A_FILE
        elif line.strip():
            action = json.loads(line)
            is_ours = is_ours or _names_us(action.get("commitInfo") or {})
            yield action


def _names_us(info: Mapping[str, Any]) -> bool:
    return ENGINE_INFO in str(info.get("engineInfo") or "").split("/") or info.get("userMetadata") == ENGINE_INFO


def _kind(
    info: Mapping[str, Any], operation: str, transactions: Mapping[str, int], *, adds: bool, removes: bool
) -> Kind:
    if _names_us(info) or any(app_id.startswith(_OUR_APPLICATIONS) for app_id in transactions):
        return Kind.OURS
    if operation == _RESTORE:
        return Kind.RESTORED
    if removes and operation not in _ROW_OPERATIONS:
        return Kind.REPLACED
    return Kind.ROWS if adds or removes else Kind.HARMLESS


def contradiction(commits: Sequence[Commit], app_id: str | None = None) -> Contradiction | None:
    """The last of consecutive commits that contradicts whoever relies on the version before the first, and on `app_id`'s own.

    A RESTORE undoes the commits after the version that it brings back, so it is none if it brings back all that is relied on.
    """
    if not commits:
        return None
    first, upto = commits[0].version, commits[-1].version
    cause: Commit | None = None
    restore: Commit | None = None
    is_known = True
    for commit in reversed(commits):
        if commit.version > upto:  # undone by a later RESTORE
            cause = cause or (restore if app_id in commit.transactions else None)
        elif commit.kind is Kind.RESTORED:
            restore, upto = commit, -1 if commit.restored_version is None else commit.restored_version
            is_known = is_known and commit.restored_version is not None
        elif commit.kind in {Kind.REPLACED, Kind.GONE}:
            cause, is_known = cause or commit, False
    if restore and upto < first - 1:
        cause = cause or restore
    return Contradiction(commit=cause, rolled_back_to=upto if restore and is_known else None) if cause else None


def commits_between(storage: Storage, location: str, after: int, upto: int) -> list[Commit]:
    """The commits of a table after version `after` up to version `upto`, which is included."""

    def read(version: int) -> Commit:
        url = commit_url(location, version)
        return commit_of(version, storage.read(url) if storage.exists(url) else None)

    versions = range(after + 1, upto + 1)
    if len(versions) < 2:  # noqa: PLR2004  most times there is none, or ours
        return list(map(read, versions))
    with ThreadPoolExecutor(_READ_AT_ONCE) as threads:
        return list(threads.map(read, versions))


def commits_since(storage: Storage, location: str, after: int) -> list[Commit]:
    """The commits after a version, without reading the state of the table.

    Where the log no longer has that version it may lack later ones, too, so the folder is listed. A file that lost its content
    with the power of its machine is a commit, as it is to Delta: one without actions.
    """
    upto = after
    if storage.exists(commit_url(location, after)):
        while storage.exists(commit_url(location, upto + 1)):
            upto += 1
    else:
        names = (
            name.partition(".json")[0] for name in storage.names(f"{location}/_delta_log") if name.endswith(".json")
        )
        upto = max((int(name) for name in names if name.isdigit()), default=after)
    return commits_between(storage, location, after, upto)
