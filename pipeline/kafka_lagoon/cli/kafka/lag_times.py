"""Measures the age of the first unread record of each group and partition for `lagoon kafka lag --time`, as snapshots do."""

from collections.abc import Sequence

from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.fetch.unread_positions import Position, UnreadRecords
from kafka_lagoon.snapshot.lag import LagColumns
from kafka_lagoon.snapshot.time_lag import TimedLag, local_starts, with_time_lag
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.row_columns import Joined

_MAX_BYTES = 256 << 20


def timed(
    context: ClusterContext,
    rows: Sequence[ConsumerLagRow],
    all_rows: LagColumns,
    offsets: Sequence[PartitionOffsetsRow],
) -> TimedLag:
    """Add the time lag to rows; also return failures. Fetches the first unread record of each row (READ on Topic)."""
    from kafka_lagoon.fetch.first_unread import first_unread  # noqa: PLC0415  codecs, which extra `records` brings

    def measure(positions: Sequence[Position]) -> UnreadRecords:
        return first_unread(context.cluster, positions, _MAX_BYTES, context.deadline)

    epochs = dict(zip(map(_key, all_rows), all_rows.committed_leader_epochs(), strict=True))
    joined = Joined(ConsumerLagRow, rows)
    return with_time_lag(joined, [epochs[_key(row)] for row in rows], local_starts(offsets), measure)


def _key(row: ConsumerLagRow) -> tuple[str, str, int]:
    return row.group_id, row.topic, row.partition
