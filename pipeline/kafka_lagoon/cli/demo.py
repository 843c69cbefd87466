"""`lagoon demo`: brokers of its own with load, the jobs, and what changed between their runs."""

from kafka_lagoon.cli.command import PLAIN, Command, Invocation
from kafka_lagoon.cli.terminal import COMPLETE

_EPILOG = """\
Three brokers listen on free ports of 127.0.0.1 and end with the demo. Everything is below LAGOON_CACHE, by default
~/.cache/kafka-lagoon: the folder demo has the tables, the report and the logs of the brokers, and is replaced by the next demo.
The first demo downloads Kafka (44 MB). No setting of yours is read, and no other cluster is asked.
"""


def _run(_: Invocation) -> int:
    from kafka_lagoon.sandbox.demo import run_demo  # noqa: PLC0415  packages of the extra; its help needs none

    run_demo()
    return COMPLETE


COMMAND = Command(
    kind=PLAIN,
    summary="Starts a Kafka of three brokers with load, and runs snapshots, ingests and the report on it: about a minute.",
    epilog=_EPILOG,
    examples=("lagoon demo",),
    answer=_run,
)
