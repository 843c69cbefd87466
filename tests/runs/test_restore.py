"""A restore that goes on, or has finished, follows the options of the run, or says what they cannot change any more."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.kinds.topics import create_topic
from kafka_lagoon.apply.outcomes import ActionResult, Outcome
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Scope, own_failure
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.errors import ConfigError, LockHeld, PipelineError, PlanOutdated, TableError
from kafka_lagoon.job_settings import RestoreSettings
from kafka_lagoon.protocol.messages.create_topics import CREATE_TOPICS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.records.digests import SequenceDigest
from kafka_lagoon.restore.progress import Position, start_of
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.saved_state import Alterations
from kafka_lagoon.restore.writing import Writing
from kafka_lagoon.runs import restore as restore_steps
from kafka_lagoon.runs import restore_run
from kafka_lagoon.runs.restore import RestoreResult
from kafka_lagoon.runs.restore_preparation import Preparation, RestoreSource
from kafka_lagoon.runs.restore_run import NOT_PLANNED, RestoreRun, Start
from kafka_lagoon.tables.write_rows import RestoreReceiptRow
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.comparisons import Comparisons
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.restore.lake import TOPIC_ID
from tests.restore.test_finished import PLAN, RECEIPT, archived, target
from tests.restore.test_progress import KEY
from tests.restore.test_snapshot_choice import captured_at, published
from tests.runs.heard import Heard
from tests.short_timeouts import short_timeouts

OF_SNAPSHOT = replace(PLAN, snapshot_id="s0", source_cluster_id="c")
ACL = {
    "snapshot_id": "s0",
    "resource_type": "TOPIC",
    "resource_name": "t",
    "pattern_type": "LITERAL",
    "principal": "User:alice",
    "host": "*",
    "operation": "READ",
    "permission": "ALLOW",
}
Repeated = Callable[..., tuple[RestoreResult, list[Action]]]


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch, connect: Callable[[], Cluster]) -> Repeated:
    """Run a finished restore of topic t again, or one that is not finished; returns the result and what was carried out."""
    source = RestoreSource(topics=[archived()], files={"t": []})
    monkeypatch.setattr(restore_steps, "find_source", lambda *_: source)
    monkeypatch.setattr(restore_steps, "commit_pending_of", lambda *_: None)
    monkeypatch.setattr(restore_steps, "refuse_pending", lambda *_: None)
    monkeypatch.setattr(RestoreRun, "described", lambda *_: target(11, 20, configs={"retention.ms": "5"}))
    monkeypatch.setattr(restore_run, "fence_of_now", lambda *_: None)
    cluster = connect()

    def run_again(
        *,
        is_finished: bool = True,
        receipt: RestoreReceiptRow | None = RECEIPT,
        refuse_unwritable: Callable[[], None] = lambda: None,
        commits: Callable[[], int] = lambda: 0,
        alter: Callable[[Start], None] = lambda _: None,
        **options: Any,
    ) -> tuple[RestoreResult, list[Action]]:
        done: list[Action] = []

        def execute(_: RestoreRun, actions: Sequence[Action], start: Start = NOT_PLANNED) -> list[Any]:
            alter(start)
            done.extend(actions)
            return []

        progress = replace(start_of(OF_SNAPSHOT), is_finished=is_finished)
        store = SimpleNamespace(
            refuse_unwritable=refuse_unwritable,
            commits=commits,
            begin=start_of,
            last=lambda: (OF_SNAPSHOT, progress),
            receipts=lambda _: [receipt] if receipt else [],
            add_receipts=lambda _: None,
        )
        request = RestoreRequest(
            from_cluster="old", to_cluster="new", topics=("t",), renames={"t": KEY.topic}, **options
        )
        run = RestoreRun(
            request=request,
            cluster=cluster,
            cluster_id="new-id",
            warehouse=cast("Any", None),
            clock=CLOCK,
            limits=RestoreSettings(),
            store=cast("Any", store),
            steps=cast("Any", Heard()),
        )
        views = published(2, acls=[ACL], topics=[(0, "t"), (1, "t")], configs=[(0, "t"), (1, "t")])
        with views as ask, monkeypatch.context() as patch:
            patch.setattr(restore_steps, "opened", lambda _: nullcontext(ask))
            patch.setattr(RestoreRun, "execute", execute)
            return restore_steps._begin_or_continue(run, lambda _: True), done

    return run_again


def test_nothing_more_is_asked(repeated: Repeated) -> None:
    """A finished restore says so, and nothing is carried out."""
    result, done = repeated()
    assert (result.plan, result.notes, result.actions, done) == (OF_SNAPSHOT, [], (), [])
    assert result.is_complete


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_a_partition_that_could_not_be_read_back(
    repeated: Repeated, monkeypatch: pytest.MonkeyPatch, is_dry_run: bool
) -> None:
    """The same command reads it back again, and plans nothing; a dry run only shows the receipts."""
    unread = replace(RECEIPT, records_read_back=None, digest_read_back=None, problem="NOT_LEADER_OR_FOLLOWER")
    monkeypatch.setattr(Writing, "write", lambda _, progress, __: (progress, {}))
    monkeypatch.setattr(Writing, "maps", lambda _: ({}, {}))
    monkeypatch.setattr(Writing, "check", lambda *_: [RECEIPT])
    result, _ = repeated(receipt=unread, is_dry_run=is_dry_run)
    assert (result.plan, result.receipts) == (OF_SNAPSHOT, [unread] if is_dry_run else [RECEIPT])


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_receipts_that_were_deleted(repeated: Repeated, monkeypatch: pytest.MonkeyPatch, is_dry_run: bool) -> None:
    """The restore is finished all the same: with --into-existing its records were written a second time."""
    monkeypatch.setattr(Writing, "write", lambda _, progress, __: (progress, {}))
    monkeypatch.setattr(Writing, "maps", lambda _: ({}, {}))
    monkeypatch.setattr(Writing, "check", lambda *_: [RECEIPT])
    result, _ = repeated(receipt=None, is_dry_run=is_dry_run, into_existing=True)
    assert (result.plan, result.written, result.receipts) == (OF_SNAPSHOT, 0, [] if is_dry_run else [RECEIPT])


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_rows_that_were_removed(repeated: Repeated, monkeypatch: pytest.MonkeyPatch, is_dry_run: bool) -> None:
    """A new restore notes that the table has fewer records than were archived, unless some are left out on purpose."""
    position = Position(next_offset=90, target_offset=20, digest=replace(SequenceDigest(), records=20), is_done=True)
    progress = replace(start_of(PLAN), positions={KEY: position})
    notes = []
    for condition in (None, "true"):
        topic = archived(records=Counter({0: 40})).only([0], condition)
        source = RestoreSource(topics=[topic], files={"t": []})
        prepared = Preparation(source=source, targets={}, actions=[], notes=[], snapshot_id=None, records=20)
        monkeypatch.setattr(restore_steps, "find_source", lambda *_, source=source: source)
        monkeypatch.setattr(restore_steps, "prepare", lambda *_, prepared=prepared: prepared)
        monkeypatch.setattr(restore_steps, "create_targets", lambda *_: (PLAN, []))
        monkeypatch.setattr(restore_steps, "_carry_out", lambda *given: replace(given[-1], progress=progress))
        notes.append(repeated(is_new=True, is_dry_run=is_dry_run)[0].notes)
    assert notes == [["t: table records has 20 of the 40 records that were archived: rows were removed"], []]


@pytest.mark.parametrize("is_new", [True, False])
def test_a_map_that_cannot_be_appended_to(repeated: Repeated, monkeypatch: pytest.MonkeyPatch, is_new: bool) -> None:
    """The restore is refused before topics are created or records are written; a dry run alters nothing and is not refused."""
    prepared = Preparation(
        source=RestoreSource(topics=[], files={}), targets={}, actions=[], notes=[], snapshot_id=None, records=None
    )
    monkeypatch.setattr(restore_steps, "prepare", lambda *_: prepared)
    monkeypatch.setattr(restore_steps, "refuse_removed", lambda *_: [])
    for name in ("create_targets", "_carry_out"):
        monkeypatch.setattr(restore_steps, name, lambda *_: pytest.fail("the target was altered"))

    def refuse() -> None:
        raise TableError("restore_map cannot be appended to")

    with pytest.raises(TableError, match="cannot be appended to"):
        repeated(is_new=is_new, is_finished=False, refuse_unwritable=refuse)
    monkeypatch.setattr(restore_steps, "_carry_out", lambda *given: given[-1])
    repeated(is_new=is_new, is_finished=False, refuse_unwritable=refuse, is_dry_run=True)


def test_the_time_to_count_what_many_topics_lack_is_linear(repeated: Repeated, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions are counted by topic, and not compared with each: 10,000 topics of ten partitions took a minute."""
    compared = Comparisons()
    names, first = [compared.counting(f"t{number}") for number in range(40)], PLAN.partitions[0]
    partitions = [
        replace(first, source=replace(first.source, topic=str(name)), target=TopicPartition(str(name), 0))
        for name in names
    ]
    plan = replace(PLAN, partitions=partitions)
    topics = [archived(topic=name, records=Counter({0: 40})) for name in names]
    source = RestoreSource(topics=topics, files={str(name): [] for name in names})
    prepared = Preparation(source=source, targets={}, actions=[], notes=[], snapshot_id=None, records=0)
    monkeypatch.setattr(restore_steps, "find_source", lambda *_: source)
    monkeypatch.setattr(restore_steps, "prepare", lambda *_: prepared)
    monkeypatch.setattr(restore_steps, "create_targets", lambda *_: (plan, []))
    monkeypatch.setattr(restore_steps, "_carry_out", lambda *given: replace(given[-1], progress=start_of(plan)))
    notes = list[str]()
    assert compared.during(lambda: notes.extend(repeated(is_new=True)[0].notes)) < 10 * len(names)
    assert len(notes) == len(names)


@pytest.mark.parametrize(("is_overtaken", "commits"), [(False, 0), (True, 0), (False, 1)])
def test_a_fault_that_another_run_may_have_caused(
    repeated: Repeated, monkeypatch: pytest.MonkeyPatch, is_overtaken: bool, commits: int
) -> None:
    """In an object store a topic may exist because another run creates it: then it is that run which is named."""
    monkeypatch.setattr(restore_run, "fence_of_now", lambda *_: Fence("lagoon/alter/new-id", 3))
    monkeypatch.setattr(restore_run, "is_passed", lambda _, fence: is_overtaken and fence.version == 3)
    counted = iter([0, commits])

    def refuse(*_: object) -> Preparation:
        raise ConfigError(["topic t has records"])

    monkeypatch.setattr(restore_steps, "prepare", refuse)
    expected = (LockHeld, "it began in the meantime") if is_overtaken or commits else (ConfigError, "has records")
    with pytest.raises(expected[0], match=expected[1]):
        repeated(is_new=True, commits=lambda: next(counted))


@pytest.mark.parametrize("is_finished", [True, False])
def test_acls_that_another_run_may_create_meanwhile(
    repeated: Repeated, monkeypatch: pytest.MonkeyPatch, is_finished: bool
) -> None:
    """Where no lock is, a run that goes on alters nothing if another one has altered the target since it looked."""
    fence, starts, action = Fence("lagoon/alter/new-id", 3), list[Start](), cast("Any", object())
    monkeypatch.setattr(restore_steps, "added", lambda *_: Alterations(actions=[action]))
    monkeypatch.setattr(restore_run, "fence_of_now", lambda *_: fence)
    monkeypatch.setattr(restore_steps, "refuse_removed", lambda *_: [])
    monkeypatch.setattr(Writing, "write", lambda _, progress, __: (progress, {KEY: "stopped"}))
    _, done = repeated(is_finished=is_finished, with_acls=True, commits=lambda: 7, alter=starts.append)
    assert (done, starts) == ([action], [Start(commits=7, fence=fence)])


@pytest.mark.parametrize(
    ("message", "reason"),
    [("Authorization failed.", "DENIED (Authorization failed.)"), (None, "DENIED")],
)
def test_an_alteration_that_is_refused(message: str | None, reason: str) -> None:
    """The line has the error's name. It had the broker's message alone, and None where brokers send no message."""
    failure = replace(own_failure(CREATE_TOPICS, Scope.of_topic("copy"), "DENIED"), message=message)
    action = create_topic("copy", partitions=1)
    results = [ActionResult(action_id="1", action=action, outcome=Outcome.FAILED, failure=failure)]
    run = SimpleNamespace(execute=lambda *_: results)
    with pytest.raises(TableError) as raised:
        RestoreRun.execute_all(cast("Any", run), [action])
    assert str(raised.value) == f"create topic copy: {reason}"


@pytest.mark.parametrize("error", [LockHeld("alterations", "process 7"), PlanOutdated(["group g was 5 and is 6"])])
def test_offsets_beside_another_alteration(
    repeated: Repeated, monkeypatch: pytest.MonkeyPatch, error: PipelineError
) -> None:
    """The records are written and read back by then, so it is no failure of the run: the offsets are reported as left."""

    def alter(_: Start) -> None:
        raise error

    monkeypatch.setattr(Writing, "write", lambda _, progress, __: (progress, {}))
    monkeypatch.setattr(Writing, "maps", lambda _: ({}, {}))
    monkeypatch.setattr(Writing, "check", lambda *_: [RECEIPT])
    action = cast("Any", object())
    left = Alterations(actions=[action, action], notes=["group h has members"])
    monkeypatch.setattr(restore_steps, "_offset_commits", lambda *_: left)
    monkeypatch.setattr(restore_steps, "_with_later_options", lambda *arguments: arguments[3])
    result, done = repeated(with_offsets=True, alter=alter)
    assert (result.receipts, result.offsets_left, done, result.is_complete) == ([RECEIPT], 3, [], False)
    assert result.notes[-2] == "group h has members"
    assert result.notes[-1].startswith("offsets of groups were not committed, because another run alters the cluster: ")
    assert result.notes[-1].endswith(("process 7", "group g was 5 and is 6"))


def test_an_alteration_of_another_run(repeated: Repeated, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore that alters nothing goes on beside it; a fault may be about what it does, so it is named."""

    def held(*_: object) -> None:
        raise LockHeld("alterations", "another run")

    prepared = Preparation(
        source=RestoreSource(topics=[], files={}), targets={}, actions=[], notes=[], snapshot_id=None, records=None
    )
    monkeypatch.setattr(restore_run, "fence_of_now", held)
    monkeypatch.setattr(restore_steps, "prepare", lambda *_: prepared)
    monkeypatch.setattr(restore_steps, "create_targets", lambda *_: (PLAN, []))
    monkeypatch.setattr(restore_steps, "_carry_out", lambda *given: replace(given[-1], progress=None))
    assert repeated(is_new=True)[0].plan == PLAN

    def refuse(*_: object) -> Preparation:
        raise ConfigError(["topic t has records"])

    monkeypatch.setattr(restore_steps, "prepare", refuse)
    with pytest.raises(LockHeld, match="another run"):
        repeated(is_new=True)


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_an_ingest_that_died_comes_first(repeated: Repeated, monkeypatch: pytest.MonkeyPatch, is_dry_run: bool) -> None:
    """A run makes the pending commits of the source cluster before it looks for records; a dry run only looks for them."""
    done: list[str] = []
    monkeypatch.setattr(restore_steps, "commit_pending_of", lambda _, cluster, __: done.append(f"commit {cluster}"))
    monkeypatch.setattr(restore_steps, "refuse_pending", lambda _, cluster: done.append(f"look at {cluster}"))
    repeated(is_dry_run=is_dry_run)
    assert done == ["look at old" if is_dry_run else "commit old"]


@pytest.mark.parametrize("is_finished", [True, False])
def test_acls_that_are_asked_for_later(repeated: Repeated, state: FakeCluster, is_finished: bool) -> None:
    """They are created for the topic's name in the target; a dry run only shows them."""
    state.acls = ()
    planned, done = repeated(is_finished=is_finished, with_acls=True, is_dry_run=True)
    (action,) = planned.actions
    assert (action.kind, action.resource.name) == (
        "create_acl",
        f"ALLOW User:alice READ topic LITERAL {KEY.topic} from *",
    )
    assert done == []
    if is_finished:
        result, done = repeated(with_acls=True)
        assert list(result.actions) == done == [action]


def test_configs_that_are_asked_for_later(repeated: Repeated) -> None:
    """A topic that exists does not get them, which is said with those that it lacks."""
    result, done = repeated(with_configs=True)
    assert result.notes == [
        f"topic {KEY.topic} exists, and --with-configs changes none of its configs: the snapshot has retention.ms=7"
    ]
    assert done == []


def test_another_time_is_refused(repeated: Repeated) -> None:
    """The snapshot of the plan stays; --at may only choose the same."""
    early, late = (int(captured_at(day).timestamp() * 1000) for day in (0, 1))
    assert repeated(at_ms=early)[0].notes == []
    for is_finished in (True, False):
        with pytest.raises(ConfigError, match=r"--at: the restore was planned from snapshot s0 .*chooses snapshot s1 "):
            repeated(at_ms=late, with_offsets=True, is_finished=is_finished)


def test_a_name_that_another_cluster_has_got(repeated: Repeated, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore goes on with the cluster of its plan, which no argument could name: by its id it would be another restore."""
    requested = list[Any]()
    source = RestoreSource(topics=[archived()], files={"t": []})
    monkeypatch.setattr(restore_steps, "find_source", lambda *given: requested.append(given[1:]) or source)  # type: ignore[func-returns-value]
    repeated(is_finished=False, is_dry_run=True)
    assert requested == [(["t"], {"t": TOPIC_ID}, OF_SNAPSHOT.source_cluster_id)]


def test_topics_that_match_since_then(repeated: Repeated, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no part of the restore, and are named."""
    monkeypatch.setattr(restore_steps, "matching_topics", lambda *_: ["t", "t2"])
    for is_finished in (True, False):
        result, _ = repeated(pattern="t.*", is_finished=is_finished, is_dry_run=True)
        assert result.notes == [
            f"topic t2 matches --pattern now, and is not part of restore {PLAN.restore_id}: --topics t2 restores it"
        ]


@pytest.mark.usefixtures("brokers")
def test_brokers_that_restart_before_the_plan_are_waited_for(
    state: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have answered, so their address is right; Spark may have started meanwhile."""
    context = SimpleNamespace(
        clock=CLOCK,
        settings=SimpleNamespace(
            restore=RestoreSettings(),
            named_clusters=lambda: {"new": short_timeouts(state, default_api_timeout_ms=30_000)},
        ),
        warehouse=SimpleNamespace(exclusively=lambda *_: nullcontext()),
        with_or_without_session=lambda run: run(),
    )

    def begin(run: RestoreRun, _: object) -> RestoreResult:
        state.faults.append(Fault(METADATA.key, Close(), times=50))
        assert len(run.cluster.refresh((), run.deadline()).brokers) == 3
        return RestoreResult(cluster="new", cluster_id=run.cluster_id, is_dry_run=False)

    monkeypatch.setattr(restore_steps, "_begin_or_continue", begin)
    request = RestoreRequest(from_cluster="old", to_cluster="new", topics=("t",))
    assert restore_steps.restore(cast("Any", context), request, RequestStats(), Heard()).cluster_id == "fake"
