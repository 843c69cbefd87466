"""The plan and the progress of a restore are stored so that another run can continue, and only one run can commit."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from kafka_lagoon.delta.kernel import Fence, Kernel
from kafka_lagoon.delta.kernel_errors import Fenced
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import LockHeld, TableError
from kafka_lagoon.fetch.range_history import SupersededRange
from kafka_lagoon.records.digests import SequenceDigest, record_hashes
from kafka_lagoon.restore import progress
from kafka_lagoon.restore.offset_map import OffsetRange
from kafka_lagoon.restore.plan import PlannedPartition, RestorePlan, from_json, to_json
from kafka_lagoon.restore.progress import Position, ProgressStore
from kafka_lagoon.restore.tasks import WorkResult
from kafka_lagoon.restore.writing import map_rows
from kafka_lagoon.tables.schema import RESTORE_MAP
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.delta import foreign
from tests.restore.lake import records, wanted

KEY = TopicPartition("a.b-c", 3)
PLANNED = PlannedPartition(
    source=wanted(
        5,
        90,
        superseded=(SupersededRange(ingest_id="i", from_offset=7, to_offset=9),),
        escaped=((8, 9),),
        condition="true",
    ),
    target=KEY,
    target_topic_id="id",
    base_offset=11,
    keeps_time=False,
)
PLAN = RestorePlan(
    restore_id="0192-0001",
    request={"topics": ["t"]},
    source_cluster="old",
    source_cluster_id="old-id",
    target_cluster="new",
    target_cluster_id="new-id",
    codec=4,
    producer_id=4000,
    producer_epoch=0,
    planned_at_ms=1,
    snapshot_id=None,
    partitions=[PLANNED],
)


def test_what_a_restore_appends_to_is_asked_at_once() -> None:
    """Positions are domain metadata of the map, and receipts are rows: each of these tables may refuse what is appended."""
    warehouse = MagicMock(state=str, base=str)
    store = ProgressStore(warehouse=warehouse, clock=CLOCK, target_cluster_id="new-id", request={})
    store.refuse_unwritable()
    (in_map, domains), (in_receipts,) = (call.args for call in warehouse.kernel.refuse_unwritable.call_args_list)
    assert (in_map, in_receipts) == ("restore_map", "restore_receipts")
    assert list(domains) == [store._domain]


def test_an_unfinished_restore_is_found_by_later_releases() -> None:
    """Under other names it would not be, and its records would be written again."""
    request = {"topics": ["t"], "condition": None}
    locations = {RESTORE_MAP.name: "file:/lake/restore_map"}
    for given in (request, dict(reversed(request.items()))):
        store = ProgressStore(
            warehouse=MagicMock(locations=locations), clock=CLOCK, target_cluster_id="new-id", request=given
        )
        assert store._domain == "lagoon.restore.new-id.e01808d36b3cc73a"
        assert store._app_id == f"lagoon/restore/{store._domain}"
        assert store._plan_url("0192-0001") == "file:/lake/restore_map/_lagoon/new-id/0192-0001.json"


def test_a_plan_is_read_as_it_was_stored() -> None:
    """A stored plan is read back equal; a plan of another version is refused."""
    assert from_json(to_json(PLAN)) == PLAN
    of_version = replace(PLAN, records_version=7)
    assert from_json(to_json(of_version)) == of_version
    earlier = {name: value for name, value in json.loads(to_json(of_version)).items() if name != "records_version"}
    assert from_json(json.dumps(earlier).encode()) == PLAN
    assert PLAN.transactional_id(KEY) == "lagoon-restore-0192-0001-a.b-c-3"
    with pytest.raises(ValueError, match="another version"):
        from_json(to_json(PLAN).replace(b'"format":1', b'"format":2'))


@pytest.mark.parametrize(
    "text", [b"[]", b"{}", b"\xff", b"[" * 5_000, b'{"format":1}', b'{"format":1,"partitions":[{}]}']
)
def test_what_is_no_plan(text: bytes) -> None:
    """It is a ValueError, of which `last` makes one line."""
    with pytest.raises(ValueError, match=r"."):
        from_json(text)


@pytest.mark.parametrize("text", ["[]", "{}", '{"positions": [[1]]}', "[" * 5_000])
def test_what_is_no_progress(text: str) -> None:
    """Every engine may write to the log, so a stored value need not be ours."""
    with pytest.raises(TableError, match="progress of a restore in the log of table restore_map cannot be read"):
        progress._from_json(text)


def store(warehouse: Warehouse, **request: object) -> ProgressStore:
    """Open the progress of the plan's request, or of another one."""
    wanted = request or {"topics": ["t"], "condition": "true"}
    return ProgressStore(warehouse=warehouse, clock=CLOCK, target_cluster_id="new-id", request=wanted)


def test_a_plan_with_another_condition() -> None:
    """Whoever may write the warehouse could put SQL of their own into a stored plan: it is not that of the request."""

    def last(plan: RestorePlan) -> Any:
        kernel = SimpleNamespace(
            domain=lambda *_: progress._to_json(progress.start_of(PLAN), "commit"),
            storage=SimpleNamespace(read=lambda _: to_json(plan)),
        )
        locations = {RESTORE_MAP.name: "file:/lake/restore_map"}
        return store(cast("Any", SimpleNamespace(kernel=kernel, state=lambda _: None, locations=locations))).last()

    assert last(PLAN)[0] == PLAN
    for condition in (None, "true); COPY (SELECT 1) TO '/etc/cron.d/a'; SELECT 1 WHERE (true"):
        changed = replace(PLANNED, source=replace(PLANNED.source, condition=condition))
        with pytest.raises(TableError, match="is not the plan of a restore: its condition is not that of the request"):
            last(replace(PLAN, partitions=[PLANNED, changed]))


@pytest.mark.parametrize("later", [0, 1, -1])
def test_another_run_goes_on_before_a_commit_is_read_back(monkeypatch: pytest.MonkeyPatch, later: int) -> None:
    """Where no lock keeps runs apart, this run may be paused after its commit: the commit stands if a later one follows it."""
    made: list[str] = []

    def append(*_: object, domains: dict[str, str], **__: object) -> int:
        ours = progress._from_json(*domains.values())
        made.append(progress._to_json(replace(ours, sequence=ours.sequence + later), "of another run"))
        return 1

    kernel = SimpleNamespace(append=append, domain=lambda *_: made[-1] if made else None)
    state = SimpleNamespace(version=0)
    monkeypatch.setattr(progress, "refuse_replaced", lambda *_: True)
    lake = SimpleNamespace(kernel=kernel, state=lambda _: state, exclusively=lambda *_: nullcontext())
    begun = progress.start_of(PLAN, 4)
    if later == 1:
        assert store(cast("Any", lake)).commit(begun, []).sequence == 5
        return
    with pytest.raises(TableError, match="does its log store keep writers apart"):
        store(cast("Any", lake)).commit(begun, [])


@pytest.mark.parametrize("restore_id", ["../../../secret", "/etc/secret", "..", "a/b"])
def test_progress_that_names_a_plan_elsewhere(restore_id: str) -> None:
    """The name of the plan's file is made of the id, which must not lead to another folder."""
    text = progress._to_json(replace(progress.start_of(PLAN), restore_id=restore_id), "commit")
    with pytest.raises(TableError, match=r"progress of a restore .* cannot be read: ValueError restore_id is "):
        progress._from_json(text)


@pytest.mark.spark
def test_a_restore_goes_on_where_it_was(warehouse: Warehouse) -> None:
    """Positions, digests and rows are one commit; runs of equal requests share them, other runs do not."""
    assert store(warehouse).last() is None
    progress = store(warehouse).begin(PLAN, 0)
    assert progress.positions == {KEY: Position(next_offset=5, target_offset=11)}
    digest = SequenceDigest().then(record_hashes(records(range(5, 8))))
    position = Position(next_offset=8, target_offset=14, digest=digest)
    result = WorkResult(target=KEY, position=position, ranges=[OffsetRange(5, 11, 3)])
    store(warehouse).commit(replace(progress, positions={KEY: position}), map_rows(PLAN, [result], 1))
    results = store(warehouse).last()
    assert results is not None
    assert (results[0], results[1].positions, results[1].is_finished) == (PLAN, {KEY: position}, False)
    assert store(warehouse).ranges("0192-0001") == {KEY: [OffsetRange(5, 11, 3)]}
    assert store(warehouse, topics=["u"]).last() is None


def test_rows_name_both_sides() -> None:
    """Rows name source and target."""
    result = WorkResult(target=KEY, position=Position(next_offset=8, target_offset=14), ranges=[OffsetRange(5, 11, 3)])
    (row,) = map_rows(PLAN, [result], 7)
    assert (row.source_cluster, row.source_cluster_id, row.target_cluster, row.target_cluster_id) == (
        *("old", "old-id"),
        *("new", "new-id"),
    )
    assert (row.source_topic, row.source_topic_id, row.source_partition, row.source_offset) == (
        *("t", PLANNED.source.topic_id),
        *(0, 5),
    )
    assert (row.target_topic, row.target_topic_id, row.target_partition, row.target_offset) == ("a.b-c", "id", 3, 11)
    assert (row.records, row.written_at_ms) == (3, 7)


@pytest.mark.spark
def test_a_new_restore_after_progress_that_cannot_be_read(warehouse: Warehouse) -> None:
    """A run that is to continue names it; `--new` begins another restore, which can be continued."""
    progress = store(warehouse).begin(PLAN, 0)
    spoiled, state = store(warehouse), warehouse.state(RESTORE_MAP.name)
    domains, fence = {spoiled._domain: "[]"}, Fence(spoiled._app_id, progress.sequence + 1)
    warehouse.kernel.append(state, [], (RESTORE_MAP.partition_by, date(2026, 11, 28)), fence=fence, domains=domains)
    with pytest.raises(TableError, match="cannot be read"):
        store(warehouse).last()
    another = replace(PLAN, restore_id="0192-0002")
    assert store(warehouse).begin(another, store(warehouse).commits()).sequence == progress.sequence + 2
    last = store(warehouse).last()
    assert last is not None
    assert last[0] == another


@pytest.mark.spark
def test_one_of_two_runs_begins(warehouse: Warehouse) -> None:
    """Of two that have seen no restore of their request, the second does not replace the plan of the first."""
    commits = store(warehouse).commits()
    store(warehouse).begin(PLAN, commits)
    with pytest.raises(LockHeld, match="it committed in the meantime"):
        store(warehouse).begin(replace(PLAN, restore_id="0192-0002"), commits)
    last = store(warehouse).last()
    assert last is not None
    assert last[0] == PLAN
    folder = Path(warehouse.locations[RESTORE_MAP.name].removeprefix("file:")) / "_lagoon"
    assert [path.name for path in folder.rglob("*.json")] == ["0192-0001.json"]


@pytest.mark.spark
def test_one_of_two_runs_commits(warehouse: Warehouse) -> None:
    """Even without a lock, the second run's rows are not in the table."""
    progress = store(warehouse).begin(PLAN, 0)
    result = WorkResult(target=KEY, position=progress.positions[KEY], ranges=[OffsetRange(5, 11, 3)])
    store(warehouse).commit(progress, [])
    with pytest.raises(LockHeld):
        store(warehouse).commit(progress, map_rows(PLAN, [result], 1))
    assert store(warehouse).ranges("0192-0001") == {}
    folder = Path(warehouse.locations[RESTORE_MAP.name].removeprefix("file:"))
    assert not list(folder.glob(f"{RESTORE_MAP.partition_by}=*/*.parquet"))  # not even in a file that no version names


@pytest.mark.spark
def test_a_lost_answer_is_no_other_run(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that was made and then refused when repeated belongs to this run: it continues, with its rows once."""
    progress = store(warehouse).begin(PLAN, 0)
    append = Kernel.append

    def losing_the_answer(*arguments: Any, **options: Any) -> int:
        append(*arguments, **options)
        raise Fenced("sent twice")

    result = WorkResult(target=KEY, position=progress.positions[KEY], ranges=[OffsetRange(5, 11, 3)])
    with monkeypatch.context() as patch:
        patch.setattr(Kernel, "append", losing_the_answer)
        made = store(warehouse).commit(progress, map_rows(PLAN, [result], 1))
    assert made.sequence == progress.sequence + 1
    assert store(warehouse).commit(made, []).sequence == made.sequence + 1
    assert store(warehouse).ranges("0192-0001") == {KEY: [OffsetRange(5, 11, 3)]}


@pytest.mark.spark
def test_a_plan_that_is_gone_is_named(warehouse: Warehouse) -> None:
    """It is an error, because starting again would write the records twice."""
    store(warehouse).begin(PLAN, 0)
    folder = f"{warehouse.locations[RESTORE_MAP.name]}/_lagoon"
    warehouse.kernel.storage.delete(folder)
    with pytest.raises(TableError, match=r"0192-0001\.json"):
        store(warehouse).last()


OPERATIONS: dict[str, Callable[[Warehouse], None]] = {
    "restore": lambda warehouse: foreign.restore(warehouse, RESTORE_MAP.name, 1),
    "overwrite": lambda warehouse: foreign.overwrite(warehouse, RESTORE_MAP.name),
}


@pytest.mark.spark
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("moment", ["before", "in the moment before", "after it died"])
def test_rows_of_the_map_that_others_took_away(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, operation: Callable[[Warehouse], None], moment: str
) -> None:
    """Without the rows offsets of groups would be translated wrongly: no run continues before the rows are restored."""
    progress = store(warehouse).begin(PLAN, 0)
    result = WorkResult(target=KEY, position=Position(next_offset=8, target_offset=14), ranges=[OffsetRange(5, 11, 3)])
    progress = store(warehouse).commit(progress, map_rows(PLAN, [result], 1))
    assert store(warehouse).last() is not None
    real = Kernel.append
    if moment == "in the moment before":

        def late(*arguments: Any, **options: Any) -> int:
            operation(warehouse)
            return real(*arguments, **options)

        monkeypatch.setattr(Kernel, "append", late)
    else:
        operation(warehouse)
    if moment != "after it died":
        with pytest.raises(TableError, match=r"^table restore_map .*rows that this run counts on are gone"):
            store(warehouse).commit(progress, [])
    monkeypatch.undo()
    with pytest.raises(TableError, match="RESTORE TABLE restore_map TO VERSION AS OF 2 brings them back"):
        store(warehouse).last()


@pytest.mark.spark
def test_what_others_do_to_the_map_without_harm(warehouse: Warehouse) -> None:
    """OPTIMIZE, VACUUM, and a RESTORE to the current rows are accepted."""
    progress = store(warehouse).begin(PLAN, 0)
    result = WorkResult(target=KEY, position=Position(next_offset=8, target_offset=14), ranges=[OffsetRange(5, 11, 3)])
    progress = store(warehouse).commit(progress, map_rows(PLAN, [result], 1))
    foreign.vacuum(warehouse, RESTORE_MAP.name)
    foreign.restore(warehouse, RESTORE_MAP.name, 2)
    foreign.optimize(warehouse, RESTORE_MAP.name)
    store(warehouse).commit(progress, [])
    assert store(warehouse).last() is not None


@pytest.mark.spark
@pytest.mark.parametrize("is_whole", [True, False])
def test_after_commits_have_left_the_log(warehouse: Warehouse, is_whole: bool) -> None:
    """If a restore continues days later, missing rows are still noticed; the commit that removed them is no longer known."""
    progress = store(warehouse).begin(PLAN, 0)
    digest = SequenceDigest().then(record_hashes(records(range(5, 8))))
    position = Position(next_offset=8, target_offset=14, digest=digest)
    result = WorkResult(target=KEY, position=position, ranges=[OffsetRange(5, 11, 3)])
    store(warehouse).commit(replace(progress, positions={KEY: position}), map_rows(PLAN, [result], 1))
    if not is_whole:
        foreign.overwrite(warehouse, RESTORE_MAP.name)
    foreign.vacuum(warehouse, RESTORE_MAP.name)
    warehouse.kernel.checkpoint(warehouse.locations[RESTORE_MAP.name])
    for path in foreign.commit_files(warehouse, RESTORE_MAP.name)[:-1]:
        path.unlink()
    if is_whole:
        assert store(warehouse).last() is not None
        return
    with pytest.raises(TableError, match="table restore_map has 0 of the 3 records"):
        store(warehouse).last()
