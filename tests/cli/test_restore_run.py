"""The plan that `lagoon restore` shows before it writes, and its report at the end."""

from collections import Counter
from dataclasses import replace

import pytest

from kafka_lagoon.apply.action import Action, Resource
from kafka_lagoon.apply.kinds.acls import acl_of, create_acl
from kafka_lagoon.apply.outcomes import ActionResult, Outcome
from kafka_lagoon.cli import restore_run as command
from kafka_lagoon.cli.outcome import PARTIAL, RESTORE, RunOutcome
from kafka_lagoon.cli.restore_run import lines
from kafka_lagoon.client.failures import Scope, own_failure
from kafka_lagoon.protocol.messages.offset_commit import OFFSET_COMMIT
from kafka_lagoon.restore.archived import ArchivedTopic
from kafka_lagoon.runs.restore import RestoreResult
from tests.restore.lake import wanted
from tests.restore.test_finished import FINISHED, RECEIPT

TOPIC = ArchivedTopic(
    cluster_id="cluster",
    topic="t",
    topic_id=None,
    other_ids=[],
    partitions={0: wanted(0, 5), 2: wanted(0, 7, partition=2)},
    records=Counter({0: 1_000, 1: 50, 2: 500}),
    codecs=frozenset(),
)


def result() -> RestoreResult:
    """A restore that is about to begin."""
    topic = Action(
        kind="create_topic",
        resource=Resource("topic", "new"),
        before=None,
        after={"partitions": 3, "replication_factor": 1},
    )
    rule = ("TOPIC", "new", "LITERAL", "User:alice", "*", "READ", "ALLOW")
    names = ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission")
    acl = create_acl(acl_of(dict(zip(names, rule, strict=True))))
    return RestoreResult(
        cluster="spare",
        cluster_id="id-of-spare",
        is_dry_run=False,
        topics=[TOPIC],
        targets={"t": "new"},
        actions=[topic, acl],
        notes=["it is compacted"],
    )


@pytest.mark.parametrize(("answer", "is_confirmed"), [("yes", True), ("y", False), ("", False)])
def test_what_is_confirmed(
    answer: str, is_confirmed: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan has the cluster by name and id, the topics with an upper bound of records, and created resources with ACLs."""
    monkeypatch.setattr("builtins.input", lambda: answer)
    assert command._is_confirmed(result()) == is_confirmed
    shown = capsys.readouterr()
    assert "+ topic new" in shown.out
    assert "User:alice" in shown.out
    assert "note: it is compacted" in shown.out
    assert "t to new: at most 1,500 records in 2 partitions" in shown.out
    assert "into cluster spare (id-of-spare)?" in shown.err


def test_what_is_said_of_a_finished_restore() -> None:
    """The report has the time of the restore and the result of its receipts, and says that nothing was written."""
    done = replace(
        result(), actions=(), notes=[], plan=FINISHED.plan, finished_at=FINISHED.finished_at, receipts=[RECEIPT]
    )
    (line,) = lines(done)
    assert line == (
        "spare (id-of-spare): restore 0192-0001 finished on 2026-09-21T14:13:20+00:00, receipts good, 0 records written"
    )
    assert done.is_complete
    other = replace(RECEIPT, problem="OTHER_RECORDS", other_records=3, other_offsets="1-3")
    done = replace(done, receipts=[RECEIPT, other])
    first, last = lines(done)
    assert first.endswith("and others wrote 3 records in between, at offsets 1-3")
    assert "1 of 2 receipts good" in last
    assert not done.is_complete


def test_offsets_that_were_not_committed() -> None:
    """Each has a line with the reason, and the event of the run counts it among the failures."""
    action = Action(
        kind="alter_offsets",
        resource=Resource("group_partition", "g new-0"),
        before=None,
        after={"committed_offset": 5},
    )
    failure = own_failure(OFFSET_COMMIT, Scope.group("g"), "UNSUPPORTED_VERSION", "needs Kafka 0.11 or newer")
    failed = ActionResult(action_id="1", action=action, outcome=Outcome.FAILED, failure=failure)
    done = ActionResult(action_id="2", action=action, outcome=Outcome.DONE)
    ended = replace(
        result(), actions=(), notes=[], plan=FINISHED.plan, receipts=[RECEIPT], altered=[failed, done], offsets_left=2
    )
    first, _ = lines(ended)
    assert first == "commit offset g new-0: failed: OffsetCommit: UNSUPPORTED_VERSION (needs Kafka 0.11 or newer)"
    outcome = RunOutcome(job=RESTORE, cluster="spare")
    command._describe(outcome, ended)
    assert (outcome.failures, outcome.status) == (3, PARTIAL)
