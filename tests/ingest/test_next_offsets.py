"""Next offsets in the log of table records are read as they were written."""

import json
from dataclasses import asdict

import pytest

from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.leader_epochs import EpochRange
from kafka_lagoon.fetch.offset_specs import EARLIEST, LATEST, AtOffset, AtTime, BeforeEnd
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.ingest.next_offsets import LastRun, NextOffsets, PendingFile, from_json, to_json, with_examined

FILE = PendingFile(name="ingest_date=2026-11-21/a.parquet", size=3, rows=2, modified_at_ms=1)
RUN = LastRun(
    ingest_id="id",
    sequence=7,
    ingest_date="2026-11-21",
    base_version=12,
    ranges=FILE,
    problems=None,
    records=(FILE,),
)
EPOCHS = (EpochRange(1, 0, 9), EpochRange(3, 9, 1 << 62))
TOPICS = {
    "orders": Archived(
        topic_id="x", partitions={11: Position(next_offset=1 << 62, leader_epoch=3, epochs=EPOCHS, confirmed=True)}
    ),
    "gone": Archived(topic_id=None, partitions={}),
    "partly": Archived(
        topic_id="y",
        partitions={0: Position(next_offset=1)},
        unstarted={
            1: EARLIEST,
            2: LATEST,
            3: AtOffset(5),
            4: AtTime(1 << 40),
            10: BeforeEnd(100),
            11: BeforeEnd(9, 1 << 40),
        },
    ),
}


@pytest.mark.parametrize(
    "offsets",
    [
        NextOffsets(),
        NextOffsets(topics=TOPICS),
        NextOffsets(topics=TOPICS, last_run=RUN),
        NextOffsets(last_run=RUN, examined={"record_ranges": 3}),
        NextOffsets(last_run=RUN, problems_run=0),
        NextOffsets(last_run=RUN, problems_run=4),
    ],
)
def test_round_trip(offsets: NextOffsets):
    """This includes epochs, closed topics, the last run and its pending files."""
    assert from_json(to_json(offsets)) == offsets


def test_topics_named_as_the_fields_of_a_topic():
    """The stored topics then have the keys of a stored topic."""
    topic = Archived(topic_id="i", partitions={0: Position(next_offset=1)}, unstarted={1: EARLIEST})
    for names in (["id", "partitions"], ["partitions"], ["former", "id", "partitions", "unstarted"], ["topics"]):
        offsets = NextOffsets(topics=dict.fromkeys(names, topic))
        assert from_json(to_json(offsets)) == offsets


def test_without_a_stored_value_there_are_no_offsets():
    """The first run begins with no topics."""
    assert from_json(None) == NextOffsets()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 3}', "[" * 5_000, '{"format": 3, "run": null, "topics": {"t": {"id": "x"}}}']
)
def test_what_is_none_is_refused(text: str):
    """Every engine may write to the log, so a stored value need not be ours."""
    with pytest.raises(TableError, match="next offsets in the log of table records cannot be read"):
        from_json(text)


def test_a_newer_format_is_refused():
    """An older release must not continue at next offsets that it may misread."""
    with pytest.raises(TableError, match="newer Kafka Lagoon"):
        from_json('{"format": 4}')


def test_the_first_format_is_still_read():
    """It had the first offset of each epoch: an epoch ended where the next began, and none was confirmed."""
    topics = {"t": {"id": "x", "partitions": {"0": [40000, 2, [[0, 0], [2, 20480]]], "1": [5, -1, []]}}}
    offsets = from_json(json.dumps({"format": 1, "run": asdict(RUN), "topics": topics}))
    read = (EpochRange(0, 0, 20480), EpochRange(2, 20480, 40000))
    assert offsets.topics["t"].partitions == {
        0: Position(next_offset=40000, leader_epoch=2, epochs=read),
        1: Position(next_offset=5),
    }
    assert offsets.last_run == RUN


def test_a_start_before_the_end_of_an_earlier_release():
    """It had no time: the end is that of the run that starts there."""
    topics = {"t": {"id": "x", "partitions": {}, "unstarted": {"0": ["before_end", 7]}}}
    offsets = from_json(json.dumps({"format": 3, "run": None, "topics": topics}))
    assert offsets.topics["t"].unstarted == {0: BeforeEnd(7)}


@pytest.mark.parametrize("name", ["../other/a.parquet", "_lagoon/../../a.parquet", "/etc/a.parquet"])
def test_a_pending_file_outside_of_its_folder_is_refused(name: str):
    """It would be read as rows and removed; users who can write the log must not access files beyond the warehouse by that."""
    text = to_json(NextOffsets(last_run=RUN)).replace(FILE.name, name)
    with pytest.raises(TableError, match="pending file outside of its folder"):
        from_json(text)


def test_next_offsets_of_a_release_that_examined_nothing():
    """They have no versions of other tables, so the next run begins with the current versions."""
    stored = json.loads(to_json(NextOffsets(last_run=RUN, examined={"record_ranges": 3})))
    del stored["examined"]
    assert from_json(json.dumps(stored)) == NextOffsets(last_run=RUN)


def test_how_far_the_commits_of_others_were_examined():
    """Up to the version that a later run stored, else to that which the last run built on; before the first run none is known."""
    examined = with_examined(NextOffsets(last_run=RUN), {"records": 15, "record_ranges": 3}, 4)
    assert examined == NextOffsets(last_run=RUN, examined={"records": 15, "record_ranges": 3}, problems_run=4)
    assert [one.examined_records for one in (examined, NextOffsets(last_run=RUN), NextOffsets())] == [15, 12, 0]
    assert with_examined(NextOffsets(), {"records": 15}, 4) == NextOffsets()
