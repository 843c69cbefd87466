"""`lagoon kafka quorum`: the KRaft controllers, and the lag of voters and observers."""

from kafka_lagoon.admin.quorum import describe_quorum, quorum_failures
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import DESCRIBED_CLUSTER, Requirement
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.snapshot.quorum import quorum_replica_rows, quorum_rows


def _answer(context: ClusterContext) -> CommandOutput:
    quorum = describe_quorum(context.cluster, context.deadline)
    if isinstance(quorum, Failure):
        return CommandOutput(rows=[], failures=[quorum])
    columns = ("replica_id", "role", "log_end_offset", "lag", "last_fetch_at_ms")
    wide = (*columns, "last_caught_up_at_ms", "directory_id", "listeners")
    return CommandOutput(
        rows=[
            RowSet(
                kind="quorum",
                rows=quorum_rows(quorum),
                columns=("leader_id", "leader_epoch", "high_watermark", "voters", "observers"),
            ),
            RowSet(kind="replica", rows=quorum_replica_rows(quorum), columns=columns, wide=wide),
        ],
        failures=list(quorum_failures(quorum)),
    )


COMMAND = Command(
    kind=CLUSTER,
    summary="Lists KRaft controllers: leader, voters and observers. Clusters with ZooKeeper answer UNSUPPORTED_VERSION.",
    examples=("lagoon kafka quorum -b kafka-1:9092",),
    answer=_answer,
    requires={"": Requirement(permissions=(DESCRIBED_CLUSTER,))},
)
