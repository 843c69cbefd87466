"""A restore that goes on writes the records that it was planned with, or is refused before it writes any."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from kafka_lagoon.delta.arrow import plain_table
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.restore import archived
from kafka_lagoon.restore.archived import ArchivedTopic, files_of, find_archived
from kafka_lagoon.restore.plan import PlannedPartition, RestorePlan
from kafka_lagoon.restore.planned_records import refuse_removed
from kafka_lagoon.restore.progress import Progress, start_of
from kafka_lagoon.tables.record_rows import RecordRangeRow
from kafka_lagoon.tables.record_tables import RECORD_RANGES, RECORDS
from kafka_lagoon.topic_partition import TopicPartition
from tests.delta import foreign
from tests.delta.record_samples import range_row
from tests.ingest.test_pending_commits import replace_table
from tests.ingest.writers import ingest, kernel_writer
from tests.restore.test_progress import PLAN

pytestmark = pytest.mark.spark
TARGET = TopicPartition("t", 0)


@pytest.fixture
def lake(warehouse: Warehouse) -> Warehouse:
    """Ten records of a topic in two files, as a run without a session of Spark sees them."""
    ingest(kernel_writer(warehouse), 1, 5)
    ingest(kernel_writer(warehouse), 2, 10)
    return replace(warehouse, session=None)


def archive(lake: Warehouse) -> Sequence[ArchivedTopic]:
    """Find the archive of topic t."""
    return find_archived(lake, "name", ["t"], {})


def planned(lake: Warehouse) -> RestorePlan:
    """Plan a restore from the table as it is."""
    (topic,) = archive(lake)
    partition = PlannedPartition(source=topic.partitions[0], target=TARGET, target_topic_id=None, base_offset=0)
    return replace(PLAN, partitions=[partition], records_version=lake.state(RECORDS.name).version)


def progress_of(plan: RestorePlan, next_offset: int) -> Progress:
    """The progress of a restore that has written the records before this offset."""
    begin = start_of(plan)
    position = replace(begin.positions[TARGET], next_offset=next_offset, is_done=next_offset == 10)
    return replace(begin, positions={TARGET: position})


def go_on(lake: Warehouse, plan: RestorePlan, next_offset: int = 0) -> list[str]:
    """Continue a restore; return the notes."""
    topics = archive(lake)
    files = files_of(lake, topics)
    return refuse_removed(lake, plan, progress_of(plan, next_offset), topics, files, 1 << 24)


def delete(lake: Warehouse, *files: int) -> None:
    """Delete the rows of these files of the table."""
    live = sorted(foreign.live(lake, RECORDS.name), key=lambda file: file.path)
    foreign.write(lake, RECORDS.name, "DELETE", *foreign.removes([live[number] for number in files]))


def test_nothing_was_removed(lake: Warehouse) -> None:
    """Later ingests and rearranged files change nothing."""
    plan = planned(lake)
    assert go_on(lake, plan) == []
    ingest(kernel_writer(lake), 3, 12)
    foreign.optimize(lake, RECORDS.name)
    assert go_on(lake, plan) == []


def test_rows_were_removed(lake: Warehouse) -> None:
    """It is refused if they had still to be written."""
    plan = planned(lake)
    delete(lake, 0)
    assert go_on(lake, plan, 5) == go_on(lake, plan, 10) == []
    with pytest.raises(
        TableError, match=r"has 5 of the 10 records of partition 0 of topic t .* start another .* --new"
    ):
        go_on(lake, plan)
    foreign.optimize(lake, RECORDS.name)
    delete(lake, 0)
    with pytest.raises(TableError, match="has 0 of the 5 records"):
        go_on(lake, plan, 5)
    assert go_on(lake, replace(plan, records_version=None)) == []  # an earlier release made the plan


def test_what_is_not_known(lake: Warehouse) -> None:
    """Files that VACUUM has removed cannot be counted: it is refused; a log that was cleaned is a note."""
    plan = planned(lake)
    (first, *_) = sorted(foreign.live(lake, RECORDS.name), key=lambda file: file.path)
    foreign.optimize(lake, RECORDS.name)
    (Path(lake.locations[RECORDS.name].removeprefix("file:")) / first.path).unlink()
    with pytest.raises(TableError, match="whether rows were removed cannot be known"):
        go_on(lake, plan)
    replace_table(lake, RECORDS)
    with pytest.raises(TableError, match="was removed and created again"):
        go_on(lake, plan)


def test_a_version_that_the_log_does_not_have(lake: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore that goes on after a week does so, and says what is not known."""
    plan, load = planned(lake), lake.kernel.load

    def latest(location: str, version: int | None = None) -> object:
        if version is not None:
            raise TableError("the log was cleaned")
        return load(location)

    monkeypatch.setattr(type(lake.kernel), "load", lambda _, *arguments: latest(*arguments))
    (note,) = go_on(lake, plan)
    assert f"does not have version {plan.records_version} any more" in note


def test_records_that_a_later_run_replaced() -> None:
    """It is refused if the log was truncated, and planned offsets have other records now: both would seem to be planned."""
    first = [range_row("1", "t", 0, 10, 1)]
    truncated = [*first, replace(range_row("2", "t", 10, 6, 2), problem="LOG_TRUNCATED")]
    continued = [*truncated, range_row("2", "t", 6, 8, 2)]
    again = [*continued, replace(range_row("3", "t", 8, 3, 3), problem="LOG_TRUNCATED")]
    for rows in (truncated, [*first, range_row("2", "t", 10, 12, 2)]):
        assert refusal(first, rows, 0) is None
    for rows in (continued, again):
        assert "was truncated since restore" in str(refusal(first, rows, 0))
        assert refusal(first, rows, 7) is not None
        assert refusal(first, rows, 9) is None
    assert refusal(again, again, 0) is None


def test_a_second_truncation_that_nothing_has_replaced() -> None:
    """It supersedes ranges that the plan leaves out already once more; no offset has other records now."""
    truncated = [range_row("1", "t", 0, 10, 1), replace(range_row("2", "t", 10, 6, 2), problem="LOG_TRUNCATED")]
    rows = [*truncated, range_row("2", "t", 6, 9, 2)]
    for end in (8, 6, 4):
        again = [*rows, replace(range_row("3", "t", 9, end, 3), problem="LOG_TRUNCATED")]
        assert refusal(rows, again, 0) is None
        assert refusal(rows, [*again, range_row("3", "t", end, 9, 3)], 0) is not None


def topic_of(rows: Sequence[RecordRangeRow]) -> ArchivedTopic:
    """Find the archived topic of these ranges."""
    ranges = plain_table(RECORD_RANGES, rows).to_pylist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archived, "_rows", lambda _warehouse, table, *_: ranges if table is RECORD_RANGES else [])
        (topic,) = find_archived(cast("Any", None), "name", ["t"], {})
    return topic


def refusal(planned_rows: Sequence[RecordRangeRow], rows: Sequence[RecordRangeRow], next_offset: int) -> str | None:
    """Continue a restore of the first ranges at an offset, after all of them were archived; return the refusal."""
    source = topic_of(planned_rows).partitions[0]
    partition = PlannedPartition(source=source, target=TARGET, target_topic_id=None, base_offset=0)
    plan = replace(PLAN, partitions=[partition], records_version=None)
    try:
        refuse_removed(cast("Any", None), plan, progress_of(plan, next_offset), [topic_of(rows)], {}, 1)
    except TableError as error:
        return str(error)
    return None
