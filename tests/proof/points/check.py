"""Finds durable effects without a point: changes of files, and requests, that no effect in the log explains."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tests.proof.points.effects import Effect
from tests.proof.points.watch import Change

_COMMIT = re.compile(r"(.*/_delta_log)/(\d{20}\.json)")
_PART_OF_COMMIT = re.compile(r"(.*/_delta_log)/\.(\d{20}\.json)\.(.+\.tmp|crc)")  # of our log store, in java/
_CHECKPOINT = re.compile(r"(.*/_delta_log)/\.{0,2}(\d{20}\.checkpoint.*|_last_checkpoint.*)")
_WITH_CONTENT = {"write", "finish", "put", "link", "rename"}  # the last two in a folder that was new, too
_MADE = {"mkdir", "create", "link", "rename", "put"}


def unexplained_changes(effects: Iterable[Effect], changes: Mapping[Change, int]) -> list[str]:
    """Changes of files that no effect explains, or fewer effects than there were changes."""
    known = _Known([effect for effect in effects if effect.outcome in ("after", "before")])
    problems = [
        f"{change.path}: {count} times {change.kind}, {known.number[change]} effects"
        for change, count in sorted(changes.items())
        if not known.explains(change, count)
    ]
    commits = [
        (match[1], count)
        for (kind, path), count in changes.items()
        if kind == "new" and (match := _COMMIT.fullmatch(path))
    ]
    versions: Counter[str] = Counter()
    for folder, count in commits:
        versions[folder] += count
    unequal = sorted(
        folder
        for folder, count in versions.items()
        if count != known.commits[folder] and not known.is_of_spark(f"{folder}/")
    )
    return problems + [f"{folder}: {versions[folder]} commits, {known.commits[folder]} effects" for folder in unequal]


class _Known:
    """The changes that the effects of a job explain."""

    def __init__(self, effects: Sequence[Effect]) -> None:
        self.number = Counter(Change(_kind_of_change(effect), effect.path) for effect in effects)
        self.commits = Counter(f"{effect.path}/_delta_log" for effect in effects if effect.verb == "commit")
        self._checkpoints = {f"{effect.path}/_delta_log" for effect in effects if effect.verb == "checkpoint"}
        self._by_spark = tuple(f"{effect.path}/" for effect in effects if effect.verb in ("sql", "save", "delete"))
        self._written = {effect.path for effect in effects if effect.verb in _WITH_CONTENT}
        self._removed = tuple(f"{effect.path}/" for effect in effects if effect.verb == "remove")

    def is_of_spark(self, path: str) -> bool:
        """True if a statement of Spark may have changed it."""
        return path.startswith(self._by_spark)

    def explains(self, change: Change, count: int) -> bool:
        """True if effects explain so many of these changes. Commits are counted by table."""
        commit, part, checkpoint = (form.fullmatch(change.path) for form in (_COMMIT, _PART_OF_COMMIT, _CHECKPOINT))
        if commit:  # a commit that is gone is older than the table keeps them
            return commit[1] in self._checkpoints if change.kind == "gone" else True
        return (
            self.number[change] >= count
            or self.is_of_spark(change.path)
            or (part is not None and part[1] in self.commits)
            or (checkpoint is not None and checkpoint[1] in self._checkpoints)
            or (change.kind == "write" and change.path in self._written)
            or (change.kind == "gone" and change.path.startswith(self._removed))
        )


def _kind_of_change(effect: Effect) -> str:
    if effect.verb in _MADE:
        return "new"
    return "gone" if effect.verb == "remove" else effect.verb


def unexplained_requests(effects: Sequence[Effect], relayed: Mapping[str, int]) -> list[str]:
    """APIs whose requests were counted between client and broker, and are not as many in the log."""
    logged = Counter(effect.verb for effect in effects if effect.is_request)
    return [
        f"{api}: {relayed.get(api, 0)} requests, {logged[api]} effects"
        for api in sorted(logged.keys() | relayed.keys())
        if logged[api] != relayed.get(api, 0)
    ]
