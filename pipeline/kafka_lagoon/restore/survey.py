"""Counts the archived records that a restore would write, and finds the bounds of their times, on executors.

Only the columns that decide are read. Where each data file has one topic alone, the log of the table has the times already.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kafka_lagoon.delta.files import DescribedFile
from kafka_lagoon.restore.archive_reader import ArchivedPartition, read_archived
from kafka_lagoon.restore.open_files import OpenFiles, SourceFile

_UNTIMED = -1


class Times(NamedTuple):
    """Bounds of the times of records."""

    oldest_ms: int
    newest_ms: int


class SurveyItem(NamedTuple):
    """A partition, and the data files that may have its records."""

    source: ArchivedPartition
    files: Sequence[SourceFile]

    @property
    def offsets(self) -> int:
        """The number of offsets of the partition, by which items are packed into tasks."""
        return self.source.to_offset - self.source.from_offset


class Survey(NamedTuple):
    """The number of wanted records of a partition, and their times; None if no record has a time."""

    records: int
    times: Times | None


def survey_partitions(limit_bytes: int, items: Sequence[SurveyItem]) -> list[Survey]:
    """Count the records of partitions."""
    opened = OpenFiles()
    return [_survey(item, limit_bytes, opened) for item in items]


def _survey(item: SurveyItem, limit_bytes: int, opened: OpenFiles) -> Survey:
    records, times = 0, list[Times]()
    for batch in read_archived(item.files, item.source, limit_bytes, ("offset", "timestamp_ms"), opened):
        records += batch.num_rows
        values = batch.column("timestamp_ms").to_numpy()
        values = values[values != _UNTIMED]
        if len(values):
            times.append(Times(int(np.min(values)), int(np.max(values))))
    return Survey(records, _all_of(times))


def times_by_topic(surveys: Mapping[tuple[str, int], Survey]) -> Mapping[str, Times]:
    """The bounds over all partitions of each topic."""
    bounds: dict[str, list[Times]] = {}
    for (topic, _), survey in surveys.items():
        if survey.times:
            bounds.setdefault(topic, []).append(survey.times)
    return {topic: times for topic, some in bounds.items() if (times := _all_of(some))}


def logged_times(files: Mapping[str, Sequence[DescribedFile]]) -> Mapping[str, Times]:
    """The bounds of topics whose records are in files of their own, all with times."""
    bounds = {topic: [_logged(topic, file) for file in some] for topic, some in files.items()}
    return {
        topic: times for topic, some in bounds.items() if all(some) and (times := _all_of([one for one in some if one]))
    }


def _logged(topic: str, file: DescribedFile) -> Times | None:
    bounds = file.bounds("timestamp_ms", int)
    if bounds is None or file.bounds("topic", str) != (topic, topic):
        return None
    return Times(*bounds) if bounds[0] > _UNTIMED else None


def _all_of(times: Sequence[Times]) -> Times | None:
    return Times(min(one.oldest_ms for one in times), max(one.newest_ms for one in times)) if times else None
