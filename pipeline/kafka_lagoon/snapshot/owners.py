"""Makes rows of the teams that own topics and groups, and of groups that are stopped on purpose, from settings and names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from kafka_lagoon.owners import Owners
from kafka_lagoon.patterns import first_match
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.cluster_rows import TopicRow
from kafka_lagoon.tables.group_rows import ConsumerGroupRow
from kafka_lagoon.tables.owner_rows import GROUP, TOPIC, ExpectedGroupRow, OwnerRow
from kafka_lagoon.tables.row_columns import column_of

T = TypeVar("T")


def owner_rows(owners: Owners, topics: Iterable[str], groups: Iterable[str]) -> Iterator[OwnerRow]:
    """One row per topic and group that a team owns."""
    for entity_type, names, teams in ((TOPIC, topics, owners.topics), (GROUP, groups, owners.groups)):
        for name, pattern, owner in _matches(names, teams):
            yield OwnerRow(entity_type=entity_type, name=name, owner=owner, pattern=pattern)


def expected_group_rows(owners: Owners, groups: Iterable[str], at_ms: int) -> Iterator[ExpectedGroupRow]:
    """One row per group that an entry names which has not ended at that time (epoch milliseconds)."""
    entries = {pattern: entry for pattern, entry in owners.expected.items() if entry.counts(at_ms)}
    should_run = {pattern: entry.should_run(at_ms) for pattern, entry in entries.items()}
    for group_id, pattern, entry in _matches(groups, entries):
        yield ExpectedGroupRow(
            group_id=group_id,
            should_run=should_run[pattern],
            hours=entry.hours,
            until_ms=entry.until_ms,
            reason=entry.reason,
            pattern=pattern,
        )


def _matches(names: Iterable[str], values: Mapping[str, T]) -> Iterator[tuple[str, str, T]]:
    """Each name that a pattern matches, with the first such pattern and its value, in the order of the names."""
    entries = [(re.compile(pattern), value) for pattern, value in values.items()]
    for name in sorted(names) if entries else ():
        if match := first_match(name, entries):
            yield name, *match


def _owners(collection: Collection) -> Collected:
    topics, groups = column_of(collection.of(TopicRow), "topic"), column_of(collection.of(ConsumerGroupRow), "group_id")
    return Collected(list(owner_rows(collection.owners, topics, groups)))


def _expected_groups(collection: Collection) -> Collected:
    groups = column_of(collection.of(ConsumerGroupRow), "group_id")
    return Collected(list(expected_group_rows(collection.owners, groups, collection.started_at_ms)))


OWNERS = Collector(table=state_tables.OWNERS, phase=Phase.LAG, collect=_owners, apis=(METADATA, LIST_GROUPS))
EXPECTED_GROUPS = Collector(
    table=state_tables.EXPECTED_GROUPS, phase=Phase.LAG, collect=_expected_groups, apis=(LIST_GROUPS,)
)
