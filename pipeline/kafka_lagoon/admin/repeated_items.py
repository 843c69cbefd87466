"""Finds partitions that an answer has twice, or with a negative number, in lists of topics.

Kafka sends no such answer, so nothing of it is believed.
"""

from collections.abc import Sequence
from typing import Any

from kafka_lagoon.wire.columns import Lists, Structs


# Hot: 2 million commits of 50,000 groups in 0.1 s.
def names_any_twice(topics: Structs[Any], counts: Sequence[int], *distinguishing: str) -> bool:
    """True if any of several lists of topics, `counts` long, has a topic or a partition of a topic twice.

    Partitions are distinguished by their index and by these fields.
    """
    names: Sequence[str] = topics.column("name")
    start = 0
    for count in counts:
        if count > 1 and len(set(names[start : start + count])) < count:
            return True
        start += count
    return _has_partitions_twice(topics.lists("partitions"), distinguishing)


def _has_partitions_twice(partitions: Lists[Any], distinguishing: Sequence[str]) -> bool:
    items = partitions.items
    indexes: Sequence[Any] = items.column("partition_index")
    if len(indexes) and min(indexes) < 0:
        return True
    if distinguishing:
        indexes = list(zip(indexes, *map(items.column, distinguishing), strict=True))
    start = 0
    for count in partitions.counts:
        if count > 1 and len(set(indexes[start : start + count])) < count:
            return True
        start += count
    return False
