"""A finished restore is recognized by its plan and receipts, as long as the target has its records."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from kafka_lagoon.delta.files import DescribedFile
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.fetch.range_history import SupersededRange
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.records.digests import SequenceDigest
from kafka_lagoon.restore import finished
from kafka_lagoon.restore.archived import ArchivedTopic
from kafka_lagoon.restore.finished import FinishedRestore, earlier_restores
from kafka_lagoon.restore.offset_map import OffsetRange
from kafka_lagoon.restore.progress import Position
from kafka_lagoon.restore.target import TargetTopic
from kafka_lagoon.restore.tasks import WorkResult
from kafka_lagoon.restore.writing import map_rows
from kafka_lagoon.tables.write_rows import RestoreReceiptRow
from kafka_lagoon.topic_partition import TopicPartition
from tests.restore.lake import TOPIC_ID, wanted
from tests.restore.test_progress import KEY, PLAN, store

RECEIPT = RestoreReceiptRow(
    restore_id=PLAN.restore_id,
    source_cluster_id="old-id",
    source_topic="t",
    source_topic_id=TOPIC_ID,
    source_partition=0,
    target_cluster_id="new-id",
    target_topic=KEY.topic,
    target_partition=KEY.partition,
    target_from_offset=11,
    target_to_offset=20,
    records=9,
    records_read_back=9,
    digest="d",
    digest_read_back="d",
    problem=None,
    checked_at_ms=1_790_000_000_123,
    other_records=0,
    other_offsets=None,
)
POSITION = Position(next_offset=90, target_offset=20, digest=replace(SequenceDigest(), records=9), is_done=True)
FINISHED = FinishedRestore(plan=PLAN, receipts=[RECEIPT], positions={KEY: POSITION})


def target(start: int, end: int, **more: Any) -> dict[str, TargetTopic | None]:
    """A target whose partition has these offsets."""
    log = LogBounds(log_start_offset=start, high_watermark=end, last_stable_offset=end, end=end)
    given = {"name": KEY.topic, "topic_id": "id", "partitions": 4, "logs": {KEY.partition: log}, **more}
    return {KEY.topic: TargetTopic(**given)}


def archived(**more: Any) -> ArchivedTopic:
    """The archive of the source."""
    given: dict[str, Any] = {
        "cluster_id": "cluster",
        "topic": "t",
        "topic_id": TOPIC_ID,
        "other_ids": [],
        "partitions": {0: wanted(5, 90)},
        "records": Counter(),
        "codecs": frozenset(),
        **more,
    }
    return ArchivedTopic(**given)


def test_its_records_are_in_the_target() -> None:
    """The topic must have the same id, and all offsets that the restore wrote."""
    assert FINISHED.is_in(target(11, 20))
    assert FINISHED.is_in(target(0, 500, topic_id=None))
    assert not FINISHED.is_in(target(12, 20))
    assert not FINISHED.is_in(target(11, 19))
    assert not FINISHED.is_in(target(11, 20, topic_id="created again"))
    assert not FINISHED.is_in({KEY.topic: None})
    assert not FINISHED.is_in(target(11, 20, logs={}))
    after_others = replace(RECEIPT, target_from_offset=14)
    assert replace(FINISHED, receipts=[after_others]).is_in(target(14, 20))
    empty = replace(RECEIPT, records=0, target_from_offset=11, target_to_offset=11)
    assert replace(FINISHED, receipts=[empty]).is_in(target(30, 30))
    assert FINISHED.finished_at == "2026-09-21T14:13:20+00:00"


def test_receipts_that_a_user_has_deleted() -> None:
    """The stored positions show what was written, so that it is not written again; it is read back again."""
    without = replace(FINISHED, receipts=[])
    assert without.is_in(target(11, 20))
    assert without.is_unread
    assert not FINISHED.is_unread
    assert not without.is_in(target(12, 20))
    assert not without.is_in(target(11, 19))
    assert not without.is_in(target(11, 20, topic_id="created again"))
    nothing = Position(next_offset=90, target_offset=11, is_done=True)
    assert replace(without, positions={KEY: nothing}).is_in(target(30, 30))
    assert without.finished_at_ms == PLAN.planned_at_ms


def test_every_partition_must_be_there() -> None:
    """One that lost an offset is enough, in whatever order they are; the last receipt tells when it was finished."""
    second = TopicPartition(KEY.topic, KEY.partition + 1)
    plan = replace(PLAN, partitions=[*PLAN.partitions, replace(PLAN.partitions[0], target=second)])
    other = replace(RECEIPT, target_partition=second.partition, checked_at_ms=RECEIPT.checked_at_ms - 5_000)
    whole, cut = (
        LogBounds(log_start_offset=start, high_watermark=20, last_stable_offset=20, end=20) for start in (11, 12)
    )
    positions = dict.fromkeys((KEY, second), POSITION)
    for receipts in ([RECEIPT, other], [other, RECEIPT]):
        finished = FinishedRestore(plan=plan, receipts=receipts, positions=positions)
        assert finished.is_in(target(11, 20, logs={KEY.partition: whole, second.partition: whole}))
        assert not finished.is_in(target(11, 20, logs={KEY.partition: whole, second.partition: cut}))
        assert not finished.is_in(target(11, 20, logs={KEY.partition: cut, second.partition: whole}))
        assert finished.finished_at_ms == RECEIPT.checked_at_ms
        assert not finished.is_unread
    unread = [RECEIPT, replace(other, digest_read_back=None)]
    assert FinishedRestore(plan=plan, receipts=unread, positions=positions).is_unread


def test_it_is_of_the_same_topics() -> None:
    """A topic that was re-created in the source is not the same; records archived since then are reported."""
    assert FINISHED.is_of([archived()])
    assert not FINISHED.is_of([archived(topic_id="created again")])
    assert not FINISHED.is_of([archived(), archived(topic="u")])
    assert FINISHED.is_of([archived(), archived(topic="u", partitions={})])
    (partition,) = PLAN.partitions
    second = replace(partition, source=replace(partition.source, topic="u"), target=TopicPartition("u", 0))
    of_two = replace(FINISHED, plan=replace(PLAN, partitions=[partition, second]))
    assert of_two.is_of([archived(), archived(topic="u")])
    assert not of_two.is_of([archived(), archived(topic="u", topic_id="created again")])
    assert not of_two.is_of([archived(topic_id="created again"), archived(topic="u")])
    assert list(FINISHED.not_restored([archived()])) == []
    (note,) = FINISHED.not_restored([archived(partitions={0: wanted(5, 100), 1: wanted(3, 7, partition=1)})])
    assert note.startswith("topic t: 14 offsets were archived after")
    (note,) = FINISHED.not_restored([archived(partitions={0: wanted(5, 100)})])
    assert note.startswith("topic t: 10 offsets were archived after")


def test_a_topic_that_was_given_an_id_since() -> None:
    """The source's brokers were upgraded to Kafka 2.8: a repeated restore into the existing topic would write twice."""
    (partition,) = PLAN.partitions
    without_id = replace(partition, source=replace(partition.source, topic_id=None))
    finished = replace(FINISHED, plan=replace(PLAN, partitions=[without_id]))
    assert finished.is_of([archived(topic_id=None)])
    assert finished.is_of([archived(began_without_id=True)])
    assert not finished.is_of([archived()])
    assert not finished.is_of([archived(began_without_id=True, other_ids=[None])])
    assert not FINISHED.is_of([archived(topic_id="created again", began_without_id=True)])


def test_what_was_archived_after_a_truncation_is_not_restored() -> None:
    """The source's log was truncated after the restore, and ends before the end that was restored."""
    of_plan = PLAN.partitions[0].source.superseded
    truncated = SupersededRange(ingest_id="i", from_offset=50, to_offset=90)
    copied = SupersededRange(ingest_id="j", from_offset=20, to_offset=30, reason="COPY")
    source = wanted(5, 60, superseded=(*of_plan, truncated, copied))
    (note,) = FINISHED.not_restored([archived(partitions={0: source})])
    assert note.startswith("topic t: 10 offsets were archived after")
    assert list(FINISHED.not_restored([archived(partitions={0: replace(source, superseded=of_plan)})])) == []


@pytest.mark.spark
def test_the_tables_know_it(warehouse: Warehouse) -> None:
    """The tables have the last receipt of each partition, and the last restore that wrote to a topic of a cluster."""
    put_back = replace(RECEIPT, checked_at_ms=RECEIPT.checked_at_ms - 60_000, other_records=2, other_offsets="3-4")
    for row in (RECEIPT, put_back, replace(RECEIPT, restore_id="0199")):
        store(warehouse).add_receipts([row])
    later = replace(put_back, checked_at_ms=RECEIPT.checked_at_ms + 1)
    assert store(warehouse).receipts(PLAN.restore_id) == [later]
    assert store(warehouse).receipts("0192-0000") == []
    for plan in (replace(PLAN, restore_id="0192-0002"), PLAN):
        progress = store(warehouse, of=plan.restore_id).begin(plan, 0)
        result = WorkResult(
            target=TopicPartition(*KEY),
            position=Position(next_offset=8, target_offset=14),
            ranges=[OffsetRange(5, 11, 3)],
        )
        store(warehouse, of=plan.restore_id).commit(progress, map_rows(plan, [result], 1))
    assert earlier_restores(warehouse, "new-id", {KEY.topic: "id", "other": None}) == {KEY.topic: "0192-0002"}
    assert earlier_restores(warehouse, "new-id", {KEY.topic: None}) == {KEY.topic: "0192-0002"}
    assert earlier_restores(warehouse, "new-id", {KEY.topic: "created again"}) == {}
    assert earlier_restores(warehouse, "another", {KEY.topic: "id"}) == {}


def test_files_that_several_topics_are_in_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore adds files with all of its topics. The log is read once, too, and files of other topics are not read."""
    topics, read = {f"t{number}": None for number in range(5)}, list[str]()
    rows = [
        {"restore_id": "r", "target_cluster_id": "new-id", "target_topic": name, "target_topic_id": "id"}
        for name in topics
    ]
    files = [
        DescribedFile(url=url, size=1, rows=1, least={"target_topic": least}, greatest={"target_topic": greatest})
        for url, least, greatest in (("a", "t0", "t4"), ("b", "a", "t2"), ("others", "t5", "z"))
    ]
    requests = list[Any]()
    kernel = SimpleNamespace(described_files=lambda *given: requests.append(given) or files, storage=None)
    warehouse = cast("Any", SimpleNamespace(kernel=kernel, state=lambda _: None))
    monkeypatch.setattr(finished, "read_table", lambda _, url, *__: read.append(url) or pa.Table.from_pylist(rows))
    assert earlier_restores(warehouse, "new-id", topics) == dict.fromkeys(topics, "r")
    assert read == ["a", "b"]
    assert len(requests) == 1


def test_an_earlier_restore_into_another_topic_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore counts only if it wrote to this topic of this cluster; topics may have had no ids then, or now."""
    rows = [
        {"restore_id": restore_id, "target_cluster_id": cluster_id, "target_topic": name, "target_topic_id": topic_id}
        for restore_id, cluster_id, name, topic_id in (
            ("5", "new-id", "a", "deleted"),
            ("4", "another", "a", "id"),
            ("1", "new-id", "a", "id"),
            ("2", "new-id", "a", "id"),
            ("6", "new-id", "not chosen", None),
            ("3", "new-id", "b", None),
        )
    ]
    file = DescribedFile(url="a", size=1, rows=1, least={"target_topic": "a"}, greatest={"target_topic": "z"})
    kernel = SimpleNamespace(described_files=lambda *_: [file], storage=None)
    warehouse = cast("Any", SimpleNamespace(kernel=kernel, state=lambda _: None))
    monkeypatch.setattr(finished, "read_table", lambda *_: pa.Table.from_pylist(rows))
    assert earlier_restores(warehouse, "new-id", {"b": "id", "a": "id"}) == {"a": "2", "b": "3"}
    assert earlier_restores(warehouse, "new-id", {"a": None}) == {"a": "5"}
