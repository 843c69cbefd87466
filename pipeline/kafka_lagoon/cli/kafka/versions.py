"""`lagoon kafka versions`: what every broker speaks, which release it may be, and what of it we speak."""

import argparse

from kafka_lagoon.admin.versions import api_versions
from kafka_lagoon.cli.kafka.verb import Answer, Context, Part, Verb
from kafka_lagoon.snapshot.versions import api_version_rows, broker_version_rows, feature_rows


def _declare(_: argparse.ArgumentParser) -> None:
    """It has no arguments of its own."""


def _answer(context: Context) -> Answer:
    versions = api_versions(context.cluster, context.deadline)
    brokers = list(broker_version_rows(context.cluster.brokers, versions))
    apis = ("api_key", "api", "broker_ids", "lowest", "highest", "spoken")
    wide_apis = (*apis[:-1], "our_lowest", "our_highest", "spoken")
    features = ("feature", "broker_ids", "lowest", "highest", "finalized")
    return Answer(
        parts=[
            Part(kind="broker", rows=brokers, columns=("broker_id", "host", "port", "release", "apis", "problem")),
            Part(kind="feature", rows=feature_rows(versions.answers), columns=features),
            Part(kind="api", rows=api_version_rows(versions.answers), columns=apis, wide=wide_apis),
        ],
        failures=list(versions.failures.values()),
    )


VERB = Verb(summary="What every broker speaks, and which release it may be.", declare=_declare, answer=_answer)
