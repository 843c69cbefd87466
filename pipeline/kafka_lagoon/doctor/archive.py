"""Checks table record_ranges of a local warehouse for records that were archived twice, which view records_now leaves out."""

from collections.abc import Iterator
from pathlib import Path

from kafka_lagoon.doctor.results import Check, Result
from kafka_lagoon.folders import is_folder
from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.query.statements import tuples

_COPIES = """
    SELECT cluster_id, topic, sum(to_offset - from_offset) AS offsets
    FROM superseded_ranges WHERE reason = 'COPY' GROUP BY cluster_id, topic ORDER BY offsets DESC, topic
"""
_NAMED = 5


def copies(warehouse: Path) -> Iterator[Result]:
    """Topics with ranges that overlap: earlier versions archived a topic again after one broker had denied it."""
    if not is_folder(warehouse / "record_ranges" / "_delta_log"):
        return
    check = Check("archive", str(warehouse))
    with opened(warehouse, ["superseded_ranges"]) as ask:
        topics = tuples(ask(_COPIES))
    if not topics:
        yield check.ok("no offset is archived twice")
        return
    named = [f"{topic} of cluster {cluster_id}: {offsets:,}" for cluster_id, topic, offsets in topics]
    rest = [f"{len(named) - _NAMED} more"] if len(named) > _NAMED else []
    yield check.warning(
        f"offsets are archived more than once ({'; '.join([*named[:_NAMED], *rest])})",
        "query view records_now, which leaves copies out; view superseded_ranges names the runs that made them",
    )
