"""Judges topics that the sink has written: rows that readers of committed records see, beside what the sink promises of them."""

from collections import Counter
from collections.abc import Iterator

from tests.proof.evidence import Sunk
from tests.proof.verdict import Finding


def judge_sunk(topics: tuple[Sunk, ...]) -> Iterator[Finding]:
    """Compare what was written with what is there."""
    for topic in topics:
        yield from _topic(topic)


def _topic(topic: Sunk) -> Iterator[Finding]:
    seen = Counter(topic.seen)
    if again := sum(seen.values()) - len(seen):
        yield Finding("doubled", again, f"{topic.name}: {again} rows are there again")
    if others := len(seen.keys() - topic.rows):
        yield Finding("altered", others, f"{topic.name}: {others} rows that nobody has written")
    missing = len(topic.rows - seen.keys())
    if topic.exit_code == 0 and missing:
        yield Finding("lost", missing, f"{topic.name}: {missing} rows are missing after exit 0")
    has_failed = topic.exit_code > 0 and topic.transactions != "none"
    if seen and missing and topic.transactions == "run":
        yield Finding("silent", missing, f"{topic.name}: a part of the only transaction is missing, {missing} rows")
    elif seen and has_failed:
        yield Finding("altered", len(seen), f"{topic.name}: {len(seen)} rows of a job that failed are seen")
