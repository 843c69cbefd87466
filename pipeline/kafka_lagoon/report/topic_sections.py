"""Writes the sections about topics and disks: throughput over time, sizes, growth, and how full volumes are."""

from collections.abc import Iterator, Sequence

from kafka_lagoon.report import topics as data
from kafka_lagoon.report.figures import chart, figure
from kafka_lagoon.report.page_tables import (
    BYTE_RATE,
    BYTES,
    CHART,
    COUNT,
    DURATION,
    RATE,
    RATIO,
    Column,
    Concern,
    DeclaredSection,
    Made,
    PageTable,
    Section,
)
from kafka_lagoon.report.scope import Scope
from kafka_lagoon.text import counted, duration, printable

_FULL_SHARE = 0.9  # a volume that is as full is a concern
_FULL_WITHIN_MS = 3 * 86_400_000  # as is one that will be full so soon
_OLD = "not known before Kafka 3.3"
_GROWTH = "the same, minus that of the first snapshot of the history"

_TOPIC_COLUMNS = (
    Column(label="Topic", source="topics.topic"),
    Column(label="Records", kind=RATE, source="topic_throughput.records_per_second", unknown="unknown"),
    Column(label="Bytes", kind=BYTE_RATE, source="topic_throughput.bytes_per_second", unknown="unknown"),
    Column(label="History", kind=CHART, source="topic_throughput.records_per_second at each snapshot of the history"),
    Column(label="On disk", kind=BYTES, source="sum of log_dirs.size_bytes over all replicas", unknown="unknown"),
    Column(label="Growth", kind=BYTES, source=_GROWTH, unknown="unknown"),
    Column(label="Partitions", kind=COUNT, source="topics.partitions", unknown="unknown"),
    Column(label="Replicas", kind=COUNT, source="topics.replication_factor", unknown="unknown"),
    Column(label="Not known", source="topics.problem; partitions without a rate: topic_throughput.rate_partitions"),
)
_DISK_COLUMNS = (
    Column(label="Directory", source="log_dirs.log_dir"),
    Column(label="Broker", kind=COUNT, source="log_dirs.broker_id"),
    Column(label="Replicas", kind=BYTES, source="sum of log_dirs.size_bytes", unknown="unknown"),
    Column(label="Growth", kind=BYTES, source=_GROWTH, unknown="unknown"),
    Column(label="Volume", kind=BYTES, source="log_dirs.total_bytes", unknown=_OLD),
    Column(label="Free", kind=BYTES, source="log_dirs.usable_bytes", unknown=_OLD),
    Column(label="Used", kind=RATIO, source="1 - usable_bytes / total_bytes", unknown="unknown"),
    Column(label="Full in", kind=DURATION, source="usable_bytes by the growth of the history", unknown="no estimate"),
    Column(label="Problem", source="log_dirs.problem", unknown=""),
)
_NO_DISKS = (
    "The snapshot has no log directories: older brokers than Kafka 1.0, a skipped table, or a missing permission."
)
_DISK_NOTE = (
    "Growth is that of the replicas in the {} of history. Volumes may hold more than Kafka's logs. When one is full is "
    "estimated from an hour of history or more."
)


def topic_section(scope: Scope) -> Made:
    """Throughput by topic, the busiest first."""
    topics = data.topics_of(scope)
    flow = data.flow_of(scope, topics)
    table = PageTable(
        name="topics",
        caption="Topics, the busiest first",
        columns=_TOPIC_COLUMNS,
        rows=[_topic_row(one) for one in topics],
        empty="No topic.",
        charts={
            number: [chart(f"Records of {printable(one.topic)}", RATE, flow.by_topic[one.topic], scope.axis)]
            for number, one in enumerate(topics[: data.WATCHED])
        },
    )
    notes = [f"The history is read for the {data.WATCHED} busiest topics."] if len(topics) > data.WATCHED else []
    byte_source = "topic_throughput.bytes_per_second, before replication"
    section = Section(
        lead=f"{counted(len(topics), 'topic')}.",
        figures=[
            figure("Records a second", RATE, flow.records, scope.axis, "topic_throughput.records_per_second"),
            figure("Bytes a second", BYTE_RATE, flow.bytes, scope.axis, byte_source),
        ],
        tables=[table],
        notes=[*notes, "A rate is that from the snapshot before to this one; offsets count as records."],
        source="Views topic_throughput, topics_published, partitions_published, log_dirs_published.",
    )
    return Made(section=section)


def _topic_row(topic: data.Topic) -> tuple[object, ...]:
    return (
        topic.topic,
        topic.records_per_second,
        topic.bytes_per_second,
        None,
        topic.size_bytes,
        topic.size_change,
        topic.partitions,
        topic.replication_factor,
        topic.remark(),
    )


def disk_section(scope: Scope) -> Made:
    """Stored bytes, their growth, and the use of the volumes."""
    disks = data.disks_of(scope)
    span_ms = scope.axis.until_ms - scope.axis.from_ms
    table = PageTable(
        name="disks",
        caption="Log directories",
        columns=_DISK_COLUMNS,
        rows=[_disk_row(one, span_ms) for one in disks],
        empty=_NO_DISKS,
    )
    section = Section(
        lead=_disk_lead(disks),
        figures=[figure("Bytes of all replicas", BYTES, data.size_history(scope), scope.axis, "log_dirs.size_bytes")],
        tables=[table],
        notes=[_DISK_NOTE.format(duration(span_ms))],
        source="View log_dirs_published.",
    )
    return Made(section=section, concerns=list(_disk_concerns(disks, span_ms)))


def _disk_lead(disks: Sequence[data.Disk]) -> str:
    shares = [one.used_share for one in disks if one.used_share is not None]
    fullest = f", the fullest volume {max(shares):.0%} full" if shares else ""
    return f"{counted(len(disks), 'log dir')}{fullest}."


def _disk_row(disk: data.Disk, span_ms: int) -> tuple[object, ...]:
    return (
        disk.log_dir,
        disk.broker_id,
        disk.size_bytes,
        disk.growth,
        disk.total_bytes,
        disk.usable_bytes,
        disk.used_share,
        disk.full_in_ms(span_ms),
        disk.problem,
    )


def _disk_concerns(disks: Sequence[data.Disk], span_ms: int) -> Iterator[Concern]:
    for disk in disks:
        place = f"the volume of {printable(disk.log_dir)} on broker {disk.broker_id}"
        full_in_ms = disk.full_in_ms(span_ms)
        if disk.used_share is not None and disk.used_share >= _FULL_SHARE:
            yield Concern(level="warning", text=f"{place} is {disk.used_share:.0%} full")
        elif full_in_ms is not None and full_in_ms < _FULL_WITHIN_MS:
            yield Concern(level="warning", text=f"{place} will be full in {duration(full_in_ms)}")


TOPICS = DeclaredSection(
    name="topics",
    title="Topics and throughput",
    relations=frozenset(
        {
            "topics_published",
            "topic_throughput",
            "unstored_snapshots",
            "partitions_published",
            "log_dirs_published",
            "snapshots",
        }
    ),
    make=topic_section,
)
DISKS = DeclaredSection(
    name="disks",
    title="Disk use and growth",
    relations=frozenset({"log_dirs_published", "snapshots", "table_states"}),
    make=disk_section,
)
