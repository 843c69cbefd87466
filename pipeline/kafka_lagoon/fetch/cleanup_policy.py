"""Asks whether compaction can be the reason why a log has no records at some offsets; in other topics such offsets are lost.

The log of a topic that was never compacted has a record or a marker at each offset from its start on. It lacks them if a
segment is gone from the leader's disk, or if the leader does not send what it has.
"""

from collections.abc import Iterable, Mapping, Sequence

from kafka_lagoon.admin.configs import describe_configs
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.fetch.stalls import BOOTSTRAP, Limits
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from kafka_lagoon.records.decoding import Counts

CLEANUP_POLICY, COMPACT = "cleanup.policy", "compact"
# Time for the request even after the run's deadline: without an answer, a loss among the offsets read so far would have no row.
_LEAST_MS = 5_000


class CleanupPolicies:
    """The cleanup policies of topics, each requested once, when the first offset without a record is met.

    `together` are topics that are requested with the first of them, because thousands of requests take long.
    """

    def __init__(self, cluster: Cluster, limits: Limits) -> None:
        self._cluster, self._limits = cluster, limits
        self._policies: dict[str, str | None] = {}

    def may_be_compacted(self, topic: str, together: Iterable[str] = ()) -> bool:
        """False if a topic is not compacted now. True also if no broker tells, such as without the right to see configs."""
        if topic not in self._policies:
            self._policies |= self._requested([topic, *(set(together) - self._policies.keys() - {topic})])
        policy = self._policies[topic]
        return policy is None or COMPACT in policy

    def explain(self, topic: str, counts: Counts, together: Iterable[str] = ()) -> None:
        """Count offsets without records as lost instead of compacted, unless the topic may be compacted."""
        if counts.compacted and not self.may_be_compacted(topic, together):
            counts.lost, counts.compacted = counts.lost + counts.compacted, 0

    def _requested(self, topics: Sequence[str]) -> Mapping[str, str | None]:
        deadline = self._limits.waiting_for(BOOTSTRAP)
        if deadline.remaining() * 1000 < _LEAST_MS:
            deadline = Deadline.after(deadline.clock, _LEAST_MS)
        try:
            described = describe_configs(self._cluster, TOPIC, topics, deadline, [CLEANUP_POLICY])
        except PipelineError:
            return dict.fromkeys(topics)
        values = {
            result.resource_name: config.value
            for result in described.results
            for config in result.configs
            if config.name == CLEANUP_POLICY
        }
        return {topic: values.get(topic) for topic in topics}
