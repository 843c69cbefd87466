"""Compares the number of records that transactions of a restore have committed with the records in the target.

Each transaction commits the number of the next record as the offset of the restore's group.
"""

from kafka_lagoon.admin.committed_offsets import committed_offsets
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, TargetChanged
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.produce.transaction_state import is_known
from kafka_lagoon.protocol.error_codes import UNSTABLE_OFFSET_COMMIT
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.topic_partition import TopicPartition

_PAUSE_S = 0.1
_REMEMBERED_MS = 24 * 3_600_000  # brokers keep transactional ids and commits for a week by default


def check_committed(
    cluster: Cluster, group_id: str, target: TopicPartition, in_target: int, log: LogBounds, deadline: Deadline
) -> None:
    """Raise TargetChanged if the group's offset is not the number of records in the target up to the end of `log`."""
    committed = _committed(cluster, group_id, target, deadline)
    if committed == in_target:
        return
    has = f"has {in_target} records of the restore, and transactions committed {committed}"
    if committed > in_target and log.last_stable_offset < log.high_watermark:
        raise TargetChanged(
            *target, f"{has}: open transactions of others hide the rest; run it again when they have ended"
        )
    raise TargetChanged(*target, f"{has}: some were deleted or compacted")


def may_be_forgotten(cluster: Cluster, transactional_id: str, age_ms: int, deadline: Deadline) -> bool | None:
    """True if brokers may have forgotten a restore that began `age_ms` ago; None with old brokers, which cannot be asked.

    Call it before a transaction begins, which makes the transactional id known. If the id is not known, the group may be
    forgotten, too, and `check_committed` passes with records of the restore in the target.
    """
    if age_ms < _REMEMBERED_MS:
        return False
    known = is_known(cluster, transactional_id, deadline)
    return None if known is None else not known


def refuse_forgotten(target: TopicPartition, others: int) -> None:
    """Raise TargetChanged if there are `others`: records of transactions since the restore began, and none known as its own."""
    if others:
        raise TargetChanged(
            *target,
            f"has {others} records of transactions since the restore was planned, and brokers do not know any more whether "
            "they are its own (transactional.id.expiration.ms, offsets.retention.minutes): start another restore with --new",
        )


def refused(failure: Failure) -> BrokerError:
    """The failure as an error."""
    return BrokerError(failure.code or -1, failure.name, failure.api, str(failure.scope), failure.message)


def _committed(cluster: Cluster, group_id: str, target: TopicPartition, deadline: Deadline) -> int:
    """The group's offset of a partition, 0 if it has none.

    InitProducerId is answered when the markers of the last transaction are written. The group's coordinator applies them a
    moment later (scheduleHandleTxnCompletion), and until then answers UNSTABLE_OFFSET_COMMIT, for which this waits. Open
    transactions of other partitions do not matter.
    """
    while True:
        fetched = committed_offsets(cluster, [group_id], deadline)
        for failure in fetched.failures:
            raise refused(failure)
        of_target = [
            partition
            for group in fetched.answers.values()
            for topic in group.topics
            if topic.name == target.topic
            for partition in topic.partitions
            if partition.partition_index == target.partition
        ]
        code = max((partition.error_code for partition in of_target), key=abs, default=0)
        if not code:
            return max(
                (partition.committed_offset for partition in of_target if partition.committed_offset > 0), default=0
            )
        if code != UNSTABLE_OFFSET_COMMIT or not deadline.pause(_PAUSE_S):
            raise refused(failure_of(OFFSET_FETCH, Scope.group_partition(group_id, *target), code))
