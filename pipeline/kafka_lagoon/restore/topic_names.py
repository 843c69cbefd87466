"""Finds the archived topics of a cluster whose names a pattern matches."""

import re

from kafka_lagoon.delta.arrow import read_table
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.range_history import unnamed_ids
from kafka_lagoon.tables.record_tables import RECORD_RANGES

_NAMES = ["cluster", "cluster_id", "topic"]
_OF_BROKERS = "__"  # topics that must be named


def matching_topics(warehouse: Warehouse, cluster: str, pattern: str) -> list[str]:
    """Topics of a cluster, given by its name or id, whose whole name matches; ConfigError if none does.

    In files written before records had the name of their cluster, only the id is known: later files have the name of that id.
    """
    compiled, archived = re.compile(pattern), set[tuple[str | None, str, str]]()
    for file in warehouse.kernel.described_files(warehouse.state_to_read(RECORD_RANGES), {}):
        arrow = read_table(warehouse.kernel.storage, file.url)
        for row in arrow.select([name for name in _NAMES if name in arrow.column_names]).to_pylist():
            archived.add((row.get("cluster"), row["cluster_id"], row["topic"]))
    ids = {cluster_id for name, cluster_id, _ in archived if cluster in (name, cluster_id)}
    names = {topic for _, cluster_id, topic in archived if cluster_id in ids and not topic.startswith(_OF_BROKERS)}
    matched = sorted(filter(compiled.fullmatch, names))
    if not matched:
        unnamed = "" if ids else unnamed_ids({"cluster": name, "cluster_id": of} for name, of, _ in archived)
        raise ConfigError([f"--pattern: no topic of cluster {cluster} that is archived matches {pattern}{unnamed}"])
    return matched
