"""Compares this machine's clock with the cluster's.

No request returns a broker's time. The active controller alone gives its own: DescribeQuorum (KIP-836) has the time at which
each replica fetched, and of the leader itself that is now. Other brokers' clocks are not known; to write a record with
LogAppendTime would show them, and nothing is written here.
"""

from collections.abc import Iterator

from kafka_lagoon.admin.quorum import describe_quorum, quorum_partitions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import UNSUPPORTED, Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.doctor.results import Check, Result
from kafka_lagoon.protocol.messages.describe_quorum import QuorumPartition

TOLERATED_MS = 5_000
_NO_SOURCE = "no request returns a broker's clock"


def clock_skew(name: str, cluster: Cluster, deadline: Deadline) -> Iterator[Result]:
    """Compare this machine's clock with the active controller's, within half of a round trip."""
    check, clock = Check("clock", f"{name}: active controller"), deadline.clock
    before_ms = clock.now_ms()
    answer = describe_quorum(cluster, deadline)
    after_ms = clock.now_ms()
    if isinstance(answer, Failure):
        is_old = answer.name == UNSUPPORTED
        reason = f"{_NO_SOURCE} before Kafka 3.3 with KRaft" if is_old else answer.name
        yield check.not_checked(reason, None if is_old else "it needs DESCRIBE on Cluster")
        return
    times = [time_ms for partition in quorum_partitions(answer) if (time_ms := _leader_time(partition)) is not None]
    if not times:
        yield check.not_checked(f"{_NO_SOURCE}, and this controller does not return its own")
        return
    yield compared(check, times[0] - (before_ms + after_ms) // 2, (after_ms - before_ms + 1) // 2)


def compared(check: Check, ahead_ms: int, uncertain_ms: int) -> Result:
    """The result for a clock with this difference from ours and this uncertainty."""
    direction = "ahead of" if ahead_ms > 0 else "behind"
    observed = f"{abs(ahead_ms)} ms {direction} this machine, give or take {uncertain_ms} ms"
    if abs(ahead_ms) > TOLERATED_MS + uncertain_ms:
        return check.warning(observed, "synchronise both by NTP: time lags and --until compare clocks")
    return check.ok(observed)


def _leader_time(partition: QuorumPartition) -> int | None:
    """The leader's clock at the time of its answer; None before DescribeQuorum v1."""
    times = (
        voter.last_fetch_timestamp for voter in partition.current_voters if voter.replica_id == partition.leader_id
    )
    return next((time_ms for time_ms in times if time_ms > 0), None)
