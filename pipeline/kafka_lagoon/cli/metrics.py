"""`lagoon metrics`: metrics of the newest snapshot of each cluster, from the tables, for runs without `metrics.folder`.

Airflow's workers and pods do not live long enough to be scraped. Any machine that can read the tables can run this command.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from kafka_lagoon.cli.arguments import add_table_options, file_path
from kafka_lagoon.cli.command import PLAIN, Command, Invocation
from kafka_lagoon.cli.engines import connected
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.out_files import writing
from kafka_lagoon.cli.pipes import write, write_utf8
from kafka_lagoon.cli.terminal import COMPLETE
from kafka_lagoon.metrics.exposition import exposition
from kafka_lagoon.metrics.snapshots import missing_samples, snapshot_samples
from kafka_lagoon.metrics.tables import RELATIONS, newest_facts, window_of_newest
from kafka_lagoon.metrics.textfile import replace_file
from kafka_lagoon.query.window import Newest
from kafka_lagoon.text import printable


def _declare(parser: ArgumentParser) -> None:
    add_table_options(parser)
    parser.add_argument(
        "--out", type=file_path, metavar="FILE", help="replace this file atomically; default: print the metrics"
    )


def _metrics(call: Invocation) -> int:
    settings = loaded(call.options, call.environ, cluster_needed=False)
    with connected(settings, call.options.engine) as open_tables:
        window = window_of_newest(open_tables({"snapshots"}, Newest(times=[None])))
        limits, facts = settings.metrics, list(newest_facts(open_tables(RELATIONS, window)))
    samples = [sample for one in facts for sample in snapshot_samples(one, limits.max_groups, limits.max_topics)]
    samples += missing_samples(settings.named_clusters(), {one.cluster for one in facts})
    out: Path | None = call.options.out
    if out is None:
        write_utf8()  # Prometheus' text format is UTF-8
        text = exposition(samples)
        write(_harmless(text) if sys.stdout.isatty() else [text])
        return COMPLETE
    with writing(out):
        replace_file(out, samples)
    return COMPLETE


def _harmless(text: str) -> Iterator[str]:
    """Escape control characters for a terminal: names of groups may have any. Files and scrapers get the text unchanged."""
    return (f"{printable(line)}\n" for line in text.removesuffix("\n").split("\n"))


COMMAND = Command(
    kind=PLAIN,
    summary="Prints metrics of the newest snapshot of each cluster in Prometheus' text format.",
    examples=(
        "lagoon metrics --warehouse ./lake",
        "lagoon metrics --warehouse ./lake --out /var/lib/node_exporter/lagoon.prom",
    ),
    declare=_declare,
    answer=_metrics,
)
