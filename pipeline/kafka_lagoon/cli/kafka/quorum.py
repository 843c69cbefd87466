"""`lagoon kafka quorum`: the KRaft controllers and how far everybody follows them."""

import argparse

from kafka_lagoon.admin.quorum import describe_quorum, quorum_replica_rows, quorum_rows, refused
from kafka_lagoon.cli.kafka.verb import Answer, Asked, Part, Verb
from kafka_lagoon.client.failures import Failure


def _declare(_: argparse.ArgumentParser) -> None:
    """It has no arguments of its own."""


def _answer(asked: Asked) -> Answer:
    told = describe_quorum(asked.cluster, asked.deadline)
    if isinstance(told, Failure):
        return Answer(parts=[], failures=[told])
    columns = (
        *("replica_id", "role", "log_end_offset", "lag", "last_fetch_at_ms", "last_caught_up_at_ms"),
        *("directory_id", "listeners"),
    )
    return Answer(
        parts=[
            Part(
                kind="quorum",
                rows=quorum_rows(told),
                columns=("leader_id", "leader_epoch", "high_watermark", "voters", "observers"),
            ),
            Part(kind="replica", rows=quorum_replica_rows(told), columns=columns),
        ],
        failures=list(refused(told)),
    )


VERB = Verb(
    summary="Controllers under KRaft: who leads, who votes, who follows; ZooKeeper has none (UNSUPPORTED_VERSION).",
    declare=_declare,
    answer=_answer,
)
