"""The maps of partitions come from the committed rows of all runs; integration/test_restore.py writes and reads back."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from kafka_lagoon.restore.offset_map import OffsetRange
from kafka_lagoon.restore.plan import PartitionKey
from kafka_lagoon.restore.writing import Writing
from tests.restore.test_progress import KEY, PLAN, PLANNED

OTHER = PartitionKey("other", 0)


def test_rows_that_contradict_each_other() -> None:
    """They cost their own partition: the others have maps, and are read back."""
    plan = replace(PLAN, partitions=[PLANNED, replace(PLANNED, target=OTHER)])
    rows = {KEY: [OffsetRange(5, 11, 10), OffsetRange(10, 30, 1)], OTHER: [OffsetRange(5, 11, 3)]}
    unused: Any = None
    writing = Writing(
        warehouse=unused,
        cluster=unused,
        clock=unused,
        limits=unused,
        plan=plan,
        files={},
        store=cast("Any", SimpleNamespace(ranges=lambda _: rows)),
    )
    maps, failures = writing.maps()
    assert {target: found.records for target, found in maps.items()} == {OTHER: 3}
    assert list(failures) == [KEY]
    assert "cannot both be true): start another restore with --new" in failures[KEY]
