"""Reads the new offsets of a group from a file, as kafka-consumer-groups exports them."""

import csv
from collections.abc import Mapping
from pathlib import Path

from kafka_lagoon.topic_partition import TopicPartition

_FIELDS = 3  # topic, partition, offset; the group before them if the export is about several groups


def read_offsets_file(path: str, group_id: str) -> tuple[Mapping[TopicPartition, int], list[str]]:
    """Read the offsets, and the faults of the file with their line numbers. Lines of other groups are faults."""
    offsets: dict[TopicPartition, int] = {}
    problems: list[str] = []
    try:
        lines = Path(path).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return {}, [f"{path}: {error.strerror if isinstance(error, OSError) else 'not text'}"]
    for number, fields in enumerate(csv.reader(lines), 1):
        words = [field.strip() for field in fields]
        if not any(words):
            continue
        group, *rest = words if len(words) > _FIELDS else [group_id, *words]
        if len(rest) != _FIELDS or not (rest[1].isdecimal() and rest[2].isdecimal()):
            problems.append(f"{path}:{number}: not TOPIC,PARTITION,OFFSET or GROUP,TOPIC,PARTITION,OFFSET")
            continue
        partition = TopicPartition(rest[0], int(rest[1]))
        if group != group_id:
            problems.append(f"{path}:{number}: it is about group {group}")
        elif partition in offsets:
            problems.append(f"{path}:{number}: {partition} stands there twice")
        offsets[partition] = int(rest[2])
    if not offsets and not problems:
        problems.append(f"{path}: no offsets in it")
    return offsets, problems
