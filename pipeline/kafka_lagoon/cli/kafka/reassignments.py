"""`lagoon kafka reassignments`: partitions that are being moved to other brokers."""

import argparse

from kafka_lagoon.admin.reassignments import list_reassignments
from kafka_lagoon.cli.kafka.verb import Answer, Context, Part, Verb
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.snapshot.reassignments import reassignment_rows

_COLUMNS = ("topic", "partition", "replicas", "adding_replicas", "removing_replicas")


def _declare(_: argparse.ArgumentParser) -> None:
    """It has no arguments of its own."""


def _answer(context: Context) -> Answer:
    listed = list_reassignments(context.cluster, context.deadline)
    if isinstance(listed, Failure):
        return Answer(parts=[], failures=[listed])
    if listed.topics:
        context.cluster.refresh({topic.name for topic in listed.topics}, context.deadline)
    topic_ids = {topic.name: context.cluster.topic_id_of(topic.name) for topic in listed.topics}
    rows = reassignment_rows(listed, topic_ids)
    return Answer(parts=[Part(kind="reassignment", rows=rows, columns=_COLUMNS, wide=("topic_id", *_COLUMNS))])


VERB = Verb(
    summary="Partitions that are being moved to other brokers; `log-dirs --topic` has the bytes of the copies.",
    declare=_declare,
    answer=_answer,
)
