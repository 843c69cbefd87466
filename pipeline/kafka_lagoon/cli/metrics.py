"""`lagoon metrics`: metrics of the newest snapshot of each cluster, from the tables, for runs without `metrics.folder`.

Airflow's workers and pods do not live long enough to be scraped. Any machine that can read the tables can run this command.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path

from kafka_lagoon.cli.arguments import add_table_options, file_path, names
from kafka_lagoon.cli.command import PLAIN, Command, Invocation
from kafka_lagoon.cli.engines import connected
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.out_files import writing
from kafka_lagoon.cli.outcome import SNAPSHOT
from kafka_lagoon.cli.pipes import write, write_utf8
from kafka_lagoon.cli.tables.snapshots import choose_snapshots
from kafka_lagoon.cli.terminal import COMPLETE
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.metrics.exposition import exposition
from kafka_lagoon.metrics.snapshots import missing_samples, snapshot_samples
from kafka_lagoon.metrics.tables import RELATIONS, newest_facts, window_of_newest
from kafka_lagoon.metrics.textfile import SUFFIX, file_name, replace_file
from kafka_lagoon.query.window import Newest
from kafka_lagoon.text import printable


def _declare(parser: ArgumentParser) -> None:
    add_table_options(parser)
    parser.add_argument(
        "--out", type=file_path, metavar="FILE", help="replace this file atomically; default: print the metrics"
    )
    parser.add_argument("--cluster", type=names, metavar="A,B", help="only these clusters; default: all")


def _metrics(call: Invocation) -> int:
    settings, chosen = loaded(call.options, call.environ, cluster_needed=False), call.options.cluster
    out: Path | None = call.options.out
    named = settings.named_clusters()
    with connected(settings, call.options.engine) as open_tables:
        newest = open_tables({"snapshots"}, Newest(times=[None]))
        if chosen is not None:
            choose_snapshots(newest, chosen, None, named)
        window = window_of_newest(newest, chosen)
        limits, facts = settings.metrics, list(newest_facts(open_tables(RELATIONS, window), chosen))
    samples = [sample for one in facts for sample in snapshot_samples(one, limits.max_groups, limits.max_topics)]
    wanted = [name for name in named if chosen is None or name in chosen]
    written = {one.cluster for one in facts}
    samples += missing_samples(wanted, written)
    if out is not None and _is_doubled(out, settings.metrics.folder, {*written, *wanted}):
        raise ConfigError(
            [
                f"--out {out}: runs write the same metrics to {out.parent} (metrics.folder): Prometheus takes no sample twice"
            ]
        )
    if out is None:
        write_utf8()  # Prometheus' text format is UTF-8
        text = exposition(samples)
        write(_harmless(text) if sys.stdout.isatty() else [text])
        return COMPLETE
    with writing(out):
        replace_file(out, samples)
    return COMPLETE


def _is_doubled(out: Path, folder: str | None, clusters: Iterable[str]) -> bool:
    """True if a collector that reads `out` finds the same metrics in files of runs beside it.

    Runs of these settings write theirs to `folder`; runs of other settings may have written those of the same clusters.
    """
    if out.suffix != SUFFIX:
        return False
    of_runs = (out.with_name(file_name("result", SNAPSHOT, cluster)) for cluster in clusters)
    is_theirs = folder is not None and Path(folder).resolve() == out.parent.resolve()
    return is_theirs or any(one != out and one.exists() for one in of_runs)


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
