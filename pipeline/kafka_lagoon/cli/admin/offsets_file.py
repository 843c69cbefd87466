"""Reads the new offsets of a group from a file, as kafka-consumer-groups exports them."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kafka_lagoon.topic_partition import TopicPartition

_PARTITION, _OFFSET = re.compile(r"[0-9]{1,10}"), re.compile(r"[0-9]{1,19}")  # int() refuses thousands of digits
_FIELDS = 3  # topic, partition, offset; the group before them if the export is about several groups


def read_offsets_file(path: str, group_id: str) -> tuple[Mapping[TopicPartition, int], list[str]]:
    """Read the offsets, and the faults of the file with their line numbers. Lines of other groups are faults."""
    offsets: dict[TopicPartition, int] = {}
    problems: list[str] = []
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")  # ids of groups may have line ends, which stay as they are
    except (OSError, UnicodeDecodeError) as error:
        return {}, [f"{path}: {error.strerror if isinstance(error, OSError) else 'not text'}"]
    for number, fields in _rows(path, text, problems):
        words = [field.strip() for field in fields]
        group, rest = (fields[0], words[1:]) if len(words) > _FIELDS else (group_id, words)
        if len(rest) != _FIELDS or not (_PARTITION.fullmatch(rest[1]) and _OFFSET.fullmatch(rest[2])):
            problems.append(f"{path}:{number}: not TOPIC,PARTITION,OFFSET or GROUP,TOPIC,PARTITION,OFFSET")
            continue
        partition = TopicPartition(rest[0], int(rest[1]))
        if group_id not in (group, group.strip()):
            problems.append(f"{path}:{number}: it is about group {group.strip()}")
        elif partition in offsets:
            problems.append(f"{path}:{number}: {partition} stands there twice")
        offsets[partition] = int(rest[2])
    if not offsets and not problems:
        problems.append(f"{path}: no offsets in it")
    return offsets, problems


def _rows(path: str, text: str, problems: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line with its number, without empty lines. After a fault of CSV no lines follow."""
    rows = csv.reader(io.StringIO(text, newline=""))
    try:
        for fields in rows:
            if any(field.strip() for field in fields):
                yield rows.line_num, fields
    except csv.Error as error:  # for example a field of more than 128 kB, in a file that is not CSV
        problems.append(f"{path}:{rows.line_num}: not CSV: {error}")
