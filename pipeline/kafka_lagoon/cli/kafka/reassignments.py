"""`lagoon kafka reassignments`: partitions that are being moved to other brokers."""

from kafka_lagoon.admin.reassignments import list_reassignments
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import DESCRIBED_CLUSTER, Requirement
from kafka_lagoon.client.agreement import agreed_metadata, refused_topics
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.snapshot.reassignments import reassignment_rows
from kafka_lagoon.wire.primitives import uuid_text

_COLUMNS = ("topic", "partition", "replicas", "adding_replicas", "removing_replicas")


def _answer(context: ClusterContext) -> CommandOutput:
    listed = list_reassignments(context.cluster, context.deadline)
    if isinstance(listed, Failure):
        return CommandOutput(rows=[], failures=[listed])
    names = {topic.name for topic in listed.topics}
    described = agreed_metadata(context.cluster, names, context.deadline).topics if names else ()
    topic_ids = {topic.name or "": uuid_text(topic.topic_id) for topic in described}
    rows = reassignment_rows(listed, topic_ids)
    shown = RowSet(kind="reassignment", rows=rows, columns=_COLUMNS, wide=("topic_id", *_COLUMNS))
    return CommandOutput(rows=[shown], failures=refused_topics(described))


COMMAND = Command(
    kind=CLUSTER,
    summary="Lists partitions that are being moved to other brokers; `log-dirs --topic` has the sizes of their copies.",
    examples=("lagoon kafka reassignments -b kafka-1:9092",),
    answer=_answer,
    requires={"": Requirement(permissions=(DESCRIBED_CLUSTER,))},
)
