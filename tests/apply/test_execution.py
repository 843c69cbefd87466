"""Plans are carried out as they were shown, or not at all; each action has its own outcome, which is recorded."""

from dataclasses import replace

import pytest

from kafka_lagoon.apply.action import Answered, Guard
from kafka_lagoon.apply.execution import check
from kafka_lagoon.apply.outcomes import NOT_READ, NOT_SENT, Outcome
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, ConfigError, PlanOutdated, TableError
from kafka_lagoon.protocol.error_codes import CLUSTER_AUTHORIZATION_FAILED
from tests.apply.kinds_in_memory import Rows, Things, action, failure, resource

DROP = action("old", "drop", None, {"value": 0}, Guard.DELETIONS)


def test_kinds_come_in_their_order_and_each_in_one_request() -> None:
    """Creations before deletions, whatever the order of the plan; the results are in the order of execution."""
    things = Things(live={"old": {"value": 0}})
    execution = things.carry_out(DROP, action("a"), action("b"), allowed=[Guard.DELETIONS])
    assert things.sent == [("put", "a"), ("put", "b"), ("drop", "old")]
    assert [result.outcome for result in execution.results] == [Outcome.DONE] * 3
    assert things.live["old"] is None


def test_rows_stand_before_requests_and_after_each_kind() -> None:
    """All actions are recorded in one write before the first request, and each kind again when it has ended."""
    things, rows = Things(live={"old": {"value": 0}}), Rows()
    things.carry_out(DROP, action("a"), allowed=[Guard.DELETIONS], recorder=rows)
    assert rows.brief() == [
        [("started", "a", None), ("started", "old", None)],
        [("finished", "a", "done")],
        [("finished", "old", "done")],
    ]
    assert len({row.action_id for some in rows.written for row in some}) == 2


def test_nothing_is_sent_without_its_guard() -> None:
    """A single action without its guard stops the whole plan, and all such actions are named."""
    things, rows = Things(live={"old": {"value": 0}}), Rows()
    other = action("older", "drop", None, {"value": 0}, Guard.DELETIONS, Guard.RECORD_DELETION)
    with pytest.raises(ConfigError) as raised:
        things.carry_out(action("a"), DROP, other, recorder=rows)
    assert raised.value.problems == (
        "drop old needs --allow-deletions",
        "drop older needs --allow-deletions, --allow-record-deletion",
    )
    assert things.sent == rows.written == []


def test_nothing_is_sent_when_the_cluster_changed() -> None:
    """Every resource that has changed since the plan is named with both states."""
    things, rows = Things(live={"a": {"value": 7}, "old": None}), Rows()
    with pytest.raises(PlanOutdated) as raised:
        things.carry_out(action("a"), DROP, action("c"), allowed=[Guard.DELETIONS], recorder=rows)
    assert raised.value.changes == (
        'thing a was absent and is {"value": 7}',
        'thing old was {"value": 0} and is absent',
    )
    assert things.sent == rows.written == []


def test_nothing_is_sent_that_cannot_be_recorded() -> None:
    """If the recorder cannot write, nothing is sent."""
    things = Things()
    with pytest.raises(TableError):
        things.carry_out(action("a"), recorder=Rows(breaks_at=1))
    assert things.sent == []


def test_after_an_outcome_that_cannot_be_recorded_nothing_else_is_sent() -> None:
    """Actions that were sent are still reported; the following kinds are not sent."""
    things, rows = Things(live={"old": {"value": 0}}), Rows(breaks_at=2)
    execution = things.carry_out(action("a"), DROP, allowed=[Guard.DELETIONS], recorder=rows)
    assert things.sent == [("put", "a")]
    assert [result.outcome for result in execution.results] == [Outcome.DONE, Outcome.FAILED]
    assert execution.unrecorded == "the disk is full"
    assert rows.brief() == [[("started", "a", None), ("started", "old", None)]]


def test_a_failure_concerns_its_own_action() -> None:
    """Other actions are carried out, but irreversible actions only if all earlier actions are done."""
    things, rows = Things(live={"old": {"value": 0}}, answers={"a": failure("DENIED", code=29)}, undone={"a"}), Rows()
    execution = things.carry_out(action("a"), action("b"), DROP, allowed=[Guard.DELETIONS], recorder=rows)
    assert things.sent == [("put", "a"), ("put", "b")]
    first, second, third = execution.results
    assert [first.outcome, second.outcome, third.outcome] == [Outcome.FAILED, Outcome.DONE, Outcome.FAILED]
    assert third.failure is not None
    assert third.failure.name == NOT_SENT
    last = rows.written[-1][0]
    assert (last.event, last.outcome, last.error_name) == ("finished", "failed", NOT_SENT)
    assert rows.written[1][0].error_code == 29


def test_what_has_a_guard_is_sent_after_all_others() -> None:
    """Of its own kind, in a request of its own, and of later kinds; a failure of any of them holds it back."""
    shrink = action("a", "put", {"value": 1}, {"value": 0}, Guard.SHRINKING_RETENTION)
    others = (action("b"), action("c", "drop", None, {"value": 0}))
    things = Things(live={"a": {"value": 0}, "c": {"value": 0}})
    things.carry_out(shrink, *others, allowed=[Guard.SHRINKING_RETENTION])
    assert things.sent == [("put", "b"), ("drop", "c"), ("put", "a")]
    for failed, before in (("b", others), ("c", others), ("b", others[:1])):
        things = Things(
            live={"a": {"value": 0}, "c": {"value": 0}}, answers={failed: failure("DENIED", code=29)}, undone={failed}
        )
        execution = things.carry_out(shrink, *before, allowed=[Guard.SHRINKING_RETENTION])
        assert things.sent == [("put", "b"), ("drop", "c")][: len(before)]
        last = execution.results[-1]
        assert (last.action, last.failure and last.failure.name) == (shrink, NOT_SENT)


def test_what_has_a_guard_waits_for_what_is_refused() -> None:
    """Also if what is refused comes after it: the plan is not carried out as it was confirmed."""
    shrink = action("a", "put", {"value": 1}, {"value": 0}, Guard.SHRINKING_RETENTION)
    things = Things(live={"a": {"value": 0}, "old": failure("DENIED")})
    execution = things.carry_out(shrink, DROP, allowed=[Guard.SHRINKING_RETENTION, Guard.DELETIONS])
    assert things.sent == []
    assert [result.failure and result.failure.name for result in execution.results] == [NOT_SENT, "DENIED"]


def test_what_has_a_guard_waits_for_what_is_left_out_of_the_plan() -> None:
    """It would have come before; actions without guards are sent."""
    things = Things(live={"old": {"value": 0}})
    execution = things.carry_out(DROP, action("a"), allowed=[Guard.DELETIONS], is_whole=False)
    assert things.sent == [("put", "a")]
    assert [result.outcome for result in execution.results] == [Outcome.DONE, Outcome.FAILED]
    assert "something before it was not done" in str(execution.results[1].message)


def test_what_cannot_be_read_or_is_invalid_is_not_sent() -> None:
    """Such actions fail with the reason; the others are sent."""
    things = Things(live={"a": failure("DENIED")}, invalid={"b": failure("INVALID_CONFIG")})
    execution = things.carry_out(action("a"), action("b"), action("c"))
    assert things.sent == [("put", "c")]
    assert [result.failure and result.failure.name for result in execution.results] == [
        "DENIED",
        "INVALID_CONFIG",
        None,
    ]


def test_what_an_answer_leaves_out_is_not_absent() -> None:
    """Its state is not known, so that an action which would create it is not sent."""
    things = Things()
    kinds = {name: replace(kind, read=lambda *_: {}) for name, kind in things.kinds().items()}
    deadline = Deadline.after(things.hands.clock(), 1)
    (refused,) = check(things.cluster(), things.plan(action("a")), deadline, kinds).values()
    assert refused.name == NOT_READ


def test_a_check_changes_nothing() -> None:
    """A check reports the same as an execution, and sends only validations."""
    things = Things(live={"a": failure("DENIED")}, invalid={"b": failure("INVALID_CONFIG")})
    plan = things.plan(action("a"), action("b"), action("c"))
    refused = check(things.cluster(), plan, Deadline.after(things.hands.clock(), 1000), things.kinds())
    assert {name.name: one.name for (_, name), one in refused.items()} == {"a": "DENIED", "b": "INVALID_CONFIG"}
    assert things.sent == []


def test_answers_are_returned_and_not_recorded() -> None:
    """The response of the cluster to an action is only returned to the caller."""
    things, rows = Things(answers={"a": Answered({"token": "hunter2"})}), Rows()
    (result,) = things.carry_out(action("a"), recorder=rows).results
    assert result.values == {"token": "hunter2"}
    assert "hunter2" not in repr(rows.written)


def test_no_time_is_no_request() -> None:
    """A kind that would begin after the deadline is not sent, and the result says so."""
    things = Things(live={"old": {"value": 0}})
    times = iter([0, 0, 61, 0, 0])
    things.on_read = lambda: things.hands.move(next(times, 0))
    things.answers = {"a": failure("CONNECTION_LOST", may_be_done=True)}  # the deadline passes at the third time
    execution = things.carry_out(action("a"), DROP, allowed=[Guard.DELETIONS])
    assert [result.outcome for result in execution.results] == [Outcome.DONE, Outcome.FAILED]
    assert things.sent == [("put", "a")]


def test_an_action_is_asked_for_once() -> None:
    """Two actions of one kind for one resource are a fault of the plan."""
    with pytest.raises(ConfigError) as raised:
        Things().plan(action("a"), action("b"), action("a"))
    assert raised.value.problems == ("put a: asked for twice",)


def test_resources_are_compared_as_json() -> None:
    """A list that the plan holds as a tuple is the same list."""
    things = Things(live={"a": {"replicas": [1, 2]}})
    execution = things.carry_out(action("a", after={"replicas": (2, 1)}, before={"replicas": (1, 2)}))
    assert execution.count(Outcome.DONE) == 1
    assert execution.results[0].action.resource == resource("a")


def test_an_error_in_the_middle_leaves_no_action_behind() -> None:
    """After any error the cluster's state decides which actions were done; other actions are still sent.

    An irreversible action is not: one whose outcome is not known may not have been done.
    """
    things = Things(live={"old": {"value": 0}}, undone={"b"})

    def broken() -> None:
        things.on_send = lambda: None
        raise BrokerError(CLUSTER_AUTHORIZATION_FAILED, "CLUSTER_AUTHORIZATION_FAILED", "SomeApi", "cluster")

    things.on_send = broken
    actions = action("a"), action("b"), action("drop-me", "drop", None, None), DROP
    execution = things.carry_out(*actions, allowed=[Guard.DELETIONS])
    done, unknown, failed = Outcome.DONE, Outcome.UNKNOWN, Outcome.FAILED
    assert [result.outcome for result in execution.results] == [done, unknown, done, failed]
    assert things.live["old"] == {"value": 0}


def test_an_interrupted_run_says_what_it_did_not_send() -> None:
    """An action that was being sent stays without an outcome; later actions are recorded as not sent."""
    things, rows = Things(live={"old": {"value": 0}}), Rows()

    def interrupted() -> None:
        raise KeyboardInterrupt

    things.on_send = interrupted
    with pytest.raises(KeyboardInterrupt):
        things.carry_out(action("a"), DROP, allowed=[Guard.DELETIONS], recorder=rows)
    assert things.sent == [("put", "a")]
    assert rows.brief()[1:] == [[("finished", "old", "failed")]]
    assert rows.written[1][0].error_name == NOT_SENT
