"""`lagoon kafka quorum`: the KRaft controllers and how far everybody follows them."""

import argparse

from kafka_lagoon.admin.quorum import describe_quorum, quorum_failures
from kafka_lagoon.cli.kafka.verb import Answer, Context, Part, Verb
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.snapshot.quorum import quorum_replica_rows, quorum_rows


def _declare(_: argparse.ArgumentParser) -> None:
    """It has no arguments of its own."""


def _answer(context: Context) -> Answer:
    quorum = describe_quorum(context.cluster, context.deadline)
    if isinstance(quorum, Failure):
        return Answer(parts=[], failures=[quorum])
    columns = ("replica_id", "role", "log_end_offset", "lag", "last_fetch_at_ms")
    wide = (*columns, "last_caught_up_at_ms", "directory_id", "listeners")
    return Answer(
        parts=[
            Part(
                kind="quorum",
                rows=quorum_rows(quorum),
                columns=("leader_id", "leader_epoch", "high_watermark", "voters", "observers"),
            ),
            Part(kind="replica", rows=quorum_replica_rows(quorum), columns=columns, wide=wide),
        ],
        failures=list(quorum_failures(quorum)),
    )


VERB = Verb(
    summary="Controllers under KRaft: who leads, who votes, who follows; ZooKeeper has none (UNSUPPORTED_VERSION).",
    declare=_declare,
    answer=_answer,
)
