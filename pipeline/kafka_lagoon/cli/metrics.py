"""`lagoon metrics`: metrics of the newest snapshot of each cluster from the tables, for where runs have no folder for them.

Airflow's workers, pods and clusters of Spark come and go; any machine that sees the tables can tell a Prometheus about them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_lagoon.cli.arguments import overrides, parser_of
from kafka_lagoon.cli.engines import ENGINES, opened
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.pipes import write
from kafka_lagoon.cli.terminal import COMPLETE
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.metrics.exposition import exposition
from kafka_lagoon.metrics.snapshots import snapshot_samples
from kafka_lagoon.metrics.tables import RELATIONS, newest_facts
from kafka_lagoon.metrics.textfile import replace_file


def run(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Print the metrics, or replace a file by them; the exit code."""
    parser = parser_of("metrics", "Metrics of the newest snapshot of each cluster in Prometheus' text format.")
    parser.add_argument("--out", type=Path, metavar="FILE", help="replace this file, atomically; default: print them")
    parser.add_argument("--engine", choices=ENGINES, help="default: duckdb for a folder of this machine, else spark")
    options = parser.parse_args(argv)
    settings = loaded(options.conf, environ, overrides(options), options.kafka_properties, cluster_needed=False)
    limit = settings.metrics.max_groups
    with opened(settings, RELATIONS, options.engine) as ask:
        samples = [sample for facts in newest_facts(ask) for sample in snapshot_samples(facts, limit)]
    if options.out is None:
        write([exposition(samples)])
        return COMPLETE
    try:
        replace_file(options.out, samples)
    except OSError as error:
        raise ConfigError([f"--out {options.out}: {error.strerror}"]) from error
    return COMPLETE
