"""`lagoon kafka versions`: the API versions of every broker, the releases that it may be, and the versions that we share."""

from kafka_lagoon.admin.versions import api_versions
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import Requirement
from kafka_lagoon.client.agreement import agree_on_brokers
from kafka_lagoon.snapshot.versions import api_version_rows, broker_version_rows, feature_rows


def _answer(context: ClusterContext) -> CommandOutput:
    agree_on_brokers(context.cluster, context.deadline)
    versions = api_versions(context.cluster, context.deadline)
    brokers = list(broker_version_rows(context.cluster.brokers, versions))
    apis = ("api_key", "api", "broker_ids", "lowest", "highest", "spoken")
    wide_apis = (*apis[:-1], "our_lowest", "our_highest", "spoken")
    features = ("feature", "broker_ids", "lowest", "highest", "finalized")
    return CommandOutput(
        rows=[
            RowSet(kind="broker", rows=brokers, columns=("broker_id", "host", "port", "release", "apis", "problem")),
            RowSet(kind="feature", rows=feature_rows(versions.answers), columns=features),
            RowSet(kind="api", rows=api_version_rows(versions.answers), columns=apis, wide=wide_apis),
        ],
        failures=list(versions.failures.values()),
    )


COMMAND = Command(
    kind=CLUSTER,
    summary="Lists the API versions that every broker supports, and the releases of Kafka that it may be.",
    examples=("lagoon kafka versions -b kafka-1:9092",),
    answer=_answer,
    requires={"": Requirement()},
)
