"""Writes the week of `load.py` as a warehouse: the rows that hourly snapshots of that cluster would have stored."""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from kafka_lagoon.delta.arrow import arrow_table, snapshot_date
from kafka_lagoon.owners import NOBODY, PAUSED, Expectation, Owners
from kafka_lagoon.snapshot.owners import expected_group_rows, owner_rows
from kafka_lagoon.tables import cluster_rows, group_rows, snapshot_rows
from kafka_lagoon.tables.cluster_rows import ConfigRow, StoredReplicaRow
from kafka_lagoon.tables.schema import STATE_TABLES, TABLES
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow
from kafka_lagoon.tables.table_states import table_state
from tests.cookbook import load
from tests.cookbook.load import (
    BROKER_DOWN,
    GROUPS,
    LEADERS_BACK,
    LOGS,
    RESTARTED,
    SCALED_OUT,
    TOPICS,
    Group,
    Log,
    Topic,
)
from tests.delta.samples import row

CLUSTER, CLUSTER_ID = "shop", "q1Sh-9_ISia_zwGINzRvyQ"
_BROKERS = (1, 2, 3)
_COLLECTED = ("brokers", "topics", "partitions", "partition_offsets", "consumer_groups", "group_members")
_ALSO = ("committed_offsets", "consumer_lag", "log_dirs", "configs", "owners", "expected_groups")
OWNERS = Owners(  # of the questions in docs/queries.md
    topics={"orders|payments": "checkout", "shipments": "logistics", "clicks": "insights", "audit": "security"},
    groups={
        "billing|bookkeeping|fraud-.*": "checkout",
        "shipping": "logistics",
        "analytics|clicks-.*": "insights",
        "audit-.*": "security",
    },
    expected={"bookkeeping": Expectation(hours=PAUSED, reason="until the books are closed")},
)
WITHOUT_COMMITS = Group(name="dashboard", topics=("shipments",), capacity=0, commits=False)
_APIS = (
    "Metadata",
    "DescribeCluster",
    "ListGroups",
    "OffsetFetch",
    "ListOffsets",
    "DescribeConfigs",
    "DescribeLogDirs",
)
_LISTS = ("Metadata", "ListGroups", "OffsetFetch")
_UNAVAILABLE = "LEADER_NOT_AVAILABLE"


def make_asked_week(folder: Path) -> Path:
    """Make the week that docs/queries.md asks about: it also has owners, and a group whose lag is null throughout."""
    return make_week(folder, OWNERS, (*GROUPS, WITHOUT_COMMITS))


def make_week(folder: Path, owners: Owners = NOBODY, groups: Sequence[Group] = GROUPS) -> Path:
    """Make all tables; those of snapshots have the week's rows, in one commit each."""
    made = [_snapshot(moment, owners, groups) for moment in load.slots()]
    for table in TABLES:
        day = pa.field(table.partition_by, pa.date32(), nullable=False)
        DeltaTable.create(
            str(folder / table.name), pa.schema([*table.file_schema(), day]), partition_by=[table.partition_by]
        )
        if table not in STATE_TABLES:
            continue
        parts = [
            arrow_table(table, one.header, facts).append_column(
                day, pa.array([snapshot_date(one.header)] * len(facts), pa.date32())
            )
            for one in made
            if (facts := one.rows[table.row])
        ]
        if parts:
            write_deltalake(folder / table.name, pa.concat_tables(parts), mode="append")
    return folder


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _snapshot(moment: datetime, owners: Owners, groups: Sequence[Group]) -> snapshot_rows.Snapshot:
    header = snapshot_rows.SnapshotHeader(
        snapshot_id=f"{moment:%Y%m%d-%H%M}", cluster=CLUSTER, cluster_id=CLUSTER_ID, captured_at_ms=_ms(moment)
    )
    facts = [*_topology(moment), *_groups(moment, groups), *_owned(moment, owners, groups), *_coverage(moment)]
    by_class = {table.row: [fact for fact in facts if isinstance(fact, table.row)] for table in STATE_TABLES}
    counts = {table.name: len(by_class[table.row]) for table in STATE_TABLES}
    states = [
        table_state(name, "complete", counts[name], header.snapshot_id, None, None) for name in (*_COLLECTED, *_ALSO)
    ]
    last = row(
        snapshot_rows.SnapshotRow,
        slot_ms=_ms(moment),
        started_at_ms=_ms(moment),
        finished_at_ms=_ms(moment) + 2_000,
        status="partial" if _is_down(moment) else "complete",
        software_version="0.2.0",
        kafka_version_range="4.3",
        brokers=counts["brokers"],
        topics=counts["topics"],
        partitions=counts["partitions"],
        groups=counts["consumer_groups"],
        failures=counts["collection_failures"],
        tables=tuple(states),
    )
    return snapshot_rows.Snapshot(header=header, rows={**by_class, snapshot_rows.SnapshotRow: [last]})


def _owned(moment: datetime, owners: Owners, groups: Sequence[Group]) -> Iterator[Any]:
    names = [group.name for group in groups]
    yield from owner_rows(owners, [topic.name for topic in TOPICS], names)
    yield from expected_group_rows(owners, names, _ms(moment))


def _is_down(moment: datetime) -> bool:
    """Return True if broker 3 is down."""
    return BROKER_DOWN[0] <= moment < BROKER_DOWN[1]


def _topology(moment: datetime) -> Iterator[Any]:
    for broker in _BROKERS:
        yield row(
            cluster_rows.BrokerRow,
            broker_id=broker,
            host=f"broker-{broker}",
            port=9092,
            rack="abc"[broker - 1],
            is_controller=broker == 1,
            is_fenced=broker == 3 and _is_down(moment),
        )
    for topic in TOPICS:
        yield row(
            cluster_rows.TopicRow,
            topic=topic.name,
            topic_id=topic.topic_id,
            is_internal=False,
            partitions=len(topic.shares),
            replication_factor=topic.replicas,
        )
        yield from _configs(topic, moment)
    for log in LOGS.values():
        yield from _partition(log, moment)


def _configs(topic: Topic, moment: datetime) -> Iterator[ConfigRow]:
    values = {
        "cleanup.policy": "delete",
        "retention.ms": str(load.retention_hours(topic, moment) * 3_600_000),
        "retention.bytes": "-1",
        "segment.ms": "3600000",
    }
    for name, value in values.items():
        is_set = name == "retention.ms"
        yield row(
            ConfigRow,
            resource_type="topic",
            resource_name=topic.name,
            name=name,
            value=value,
            source="TOPIC_CONFIG" if is_set else "DEFAULT_CONFIG",
            is_default=not is_set,
            synonyms=(),
        )


@cache
def _replicas(topic: str, partition: int) -> tuple[int, ...]:
    """Return the replicas, the preferred leader first; the only replica of audit is on broker 3."""
    if topic == "audit":
        return (3,)
    first = partition % len(_BROKERS)
    return (*_BROKERS[first:], *_BROKERS[:first])


def _leader(log: Log, moment: datetime) -> tuple[int | None, int]:
    """Return the leader and its epoch."""
    replicas = _replicas(log.topic.name, log.partition)
    if replicas[0] != 3 or moment < BROKER_DOWN[0]:
        return replicas[0], 0
    if moment < LEADERS_BACK and len(replicas) > 1:
        return replicas[1], 1
    return (None, 1) if _is_down(moment) else (replicas[0], 2)


def _partition(log: Log, moment: datetime) -> Iterator[Any]:
    replicas = _replicas(log.topic.name, log.partition)
    leader, epoch = _leader(log, moment)
    alive = [broker for broker in replicas if broker != 3 or not _is_down(moment)]
    isr = tuple(alive or replicas)  # the last replica stays in the ISR
    name = {"topic": log.topic.name, "topic_id": log.topic.topic_id, "partition": log.partition}
    yield row(
        cluster_rows.PartitionRow,
        **name,
        leader_id=leader,
        leader_epoch=epoch,
        replicas=replicas,
        isr=isr,
        offline_replicas=tuple(broker for broker in replicas if broker not in alive),
        is_leaderless=leader is None,
        is_under_replicated=len(isr) < len(replicas),
        is_under_min_isr=False,
        is_at_min_isr=len(isr) == 1,
        is_preferred_leader=None if leader is None else leader == replicas[0],
        rack_count=len(replicas),
    )
    end, start = log.end(moment), log.start(moment)
    known = {
        "log_start_offset": start,
        "high_watermark": end,
        "last_stable_offset": end,
        "max_timestamp_offset": end - 1 if end else None,
        "max_timestamp": _ms(log.written_at(end - 1)) if end else None,
        "max_timestamp_ms": _ms(log.written_at(end - 1)) if end else None,
        "leader_epoch": epoch,
        "read_at_ms": _ms(moment) + 500,
    }
    yield row(cluster_rows.PartitionOffsetsRow, **name, **(known if leader else {"problem": _UNAVAILABLE}))
    for broker in alive:
        yield row(
            StoredReplicaRow,
            **name,
            broker_id=broker,
            log_dir="/data",
            size_bytes=(end - start) * log.topic.bytes_each,
            offset_lag=0,
            is_future=False,
            total_bytes=100_000_000_000,
            usable_bytes=40_000_000_000,
        )


_COMMITS = load.commits()


def _members(group: Group, moment: datetime) -> list[str]:
    """Return the members' ids: fraud-check gets a third one on Friday, and then the first one restarts."""
    if group.is_down(moment):
        return []
    names = [f"{group.name}-{number}" for number in range(1, group.members + 1)]
    if group.name == "fraud-check" and moment >= SCALED_OUT:
        names.append("fraud-check-3")
    restarted = group.name == "fraud-check" and moment >= RESTARTED
    return [f"{name}-{_digest(name + ('again' if restarted and name.endswith('-1') else ''))}" for name in names]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def _epoch(group: Group, moment: datetime) -> int | None:
    if group.type == "classic":
        return None
    return 4 + (moment >= SCALED_OUT) + 2 * (moment >= RESTARTED)


def _groups(moment: datetime, groups: Sequence[Group]) -> Iterator[Any]:
    for group in groups:
        members, epoch = _members(group, moment), _epoch(group, moment)
        state = "Stable" if members else "Empty"
        yield row(
            group_rows.ConsumerGroupRow,
            group_id=group.name,
            group_type=group.type,
            protocol_type="consumer",
            state=state,
            protocol="range" if group.type == "classic" else "uniform",
            coordinator_id=1,
            members=len(members),
            group_epoch=epoch,
            assignment_epoch=epoch,
        )
        owned = [log for log in LOGS.values() if log.topic.name in group.topics]
        owners = {id(log): members[place % len(members)] for place, log in enumerate(owned) if members}
        for member in members:
            yield _member(group, member, [log for log in owned if owners[id(log)] == member], epoch)
        for log in owned:
            yield from _lag(group, log, moment, owners.get(id(log)), state)
    yield from _console(moment)


def _member(group: Group, member: str, owned: list[Log], epoch: int | None) -> group_rows.GroupMemberRow:
    assignment = tuple(
        group_rows.TopicPartitions(
            topic=topic, topic_id=None, partitions=tuple(log.partition for log in owned if log.topic.name == topic)
        )
        for topic in dict.fromkeys(log.topic.name for log in owned)
    )
    return row(
        group_rows.GroupMemberRow,
        group_id=group.name,
        member_id=member,
        client_id=group.name,
        client_host=f"/10.0.0.{1 + len(group.name)}",
        subscribed_topics=group.topics,
        assignment=assignment,
        target_assignment=assignment if epoch else None,
        member_epoch=epoch,
    )


def _lag(group: Group, log: Log, moment: datetime, member: str | None, state: str) -> Iterator[Any]:
    committed = dict(_COMMITS[group.name, log.topic.name, log.partition])[moment] if group.commits else None
    name = {
        "group_id": group.name,
        "topic": log.topic.name,
        "topic_id": log.topic.topic_id,
        "partition": log.partition,
        "committed_offset": committed,
    }
    if committed is not None:
        yield row(group_rows.CommittedOffsetRow, **name, read_at_ms=_ms(moment) + 300)
    has_leader = _leader(log, moment)[0] is not None
    basis = "unknown" if not has_leader else "committed" if group.commits else "log_start"
    yield row(
        group_rows.ConsumerLagRow,
        **name,
        group_type=group.type,
        group_state=state,
        lag_basis=basis,
        member_id=member,
        client_id=member and group.name,
        client_host=member and f"/10.0.0.{1 + len(group.name)}",
        **(_known(log, moment, committed) if has_leader else {"problem": _UNAVAILABLE}),
    )


def _known(log: Log, moment: datetime, committed: int | None) -> dict[str, Any]:
    """Return what is known of the lag of a partition that has a leader."""
    end, start = log.end(moment), log.start(moment)
    offsets = {"log_start_offset": start, "high_watermark": end, "last_stable_offset": end}
    if committed is None:
        return {**offsets, "problem": "NO_COMMIT"}
    lag, first = end - committed, max(committed, start)
    unread = log.written_at(first)
    return {
        **offsets,
        "lag": lag,
        "lag_lower_bound": lag,
        "lag_read_committed": lag,
        "records_lost": max(start - committed, 0),
        "retention_margin": committed - start,
        "time_lag_ms": _ms(moment) - _ms(unread) if lag else 0,
        "time_lag_method": "caught_up" if not lag else "below_log_start" if committed < start else "exact",
        "first_unread_timestamp_ms": _ms(unread) if lag else None,
    }


def _console(moment: datetime) -> Iterator[Any]:
    """A console consumer read orders for an hour and committed nothing."""
    if moment != load.november(16, 14):
        return
    console = "console-consumer-4711"
    yield row(
        group_rows.ConsumerGroupRow,
        group_id=console,
        group_type="classic",
        protocol_type="consumer",
        state="Stable",
        protocol="range",
        coordinator_id=1,
        members=1,
    )
    member = Group(name=console, topics=("orders",), capacity=0)
    yield _member(member, f"{console}-1", [log for log in LOGS.values() if log.topic.name == "orders"], None)


def _coverage(moment: datetime) -> Iterator[Any]:
    partitions = len(LOGS)
    for api in _APIS:
        failed = 1 if _is_down(moment) and api in {"ListOffsets", "DescribeLogDirs"} else 0
        expected = partitions if api == "ListOffsets" else 3
        yield row(
            CoverageRow,
            api=api,
            api_version=1,
            expected=expected,
            answered=expected - failed,
            failed=failed,
            visibility="complete" if api in _LISTS else None,
            requests=1,
        )
    if _is_down(moment):
        for api, scope, values in (
            ("ListOffsets", "audit-0", {"scope_type": "partition", "topic": "audit", "partition": 0}),
            ("DescribeLogDirs", "broker 3", {"scope_type": "broker", "broker_id": 3}),
        ):
            yield row(
                CollectionFailureRow,
                api=api,
                scope=scope,
                error_name=_UNAVAILABLE if api == "ListOffsets" else "CONNECTION_FAILED",
                attempts=5,
                items=1,
                **values,
            )
