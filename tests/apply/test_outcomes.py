"""Without a response the live state decides the outcome of an action, or the outcome is unknown."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kafka_lagoon.admin.scram import ScramCredential
from kafka_lagoon.apply import outcomes
from kafka_lagoon.apply.action import State
from kafka_lagoon.apply.kinds.topics import CREATE_TOPIC, create_topic
from kafka_lagoon.apply.kinds.users import ALTER_SCRAM, alter_scram
from kafka_lagoon.apply.outcomes import DECIDE_MS, Outcome, decided, is_unsure
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.errors import ClusterRefused
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.secret import Secret
from tests.apply.kinds_in_memory import Rows, Things, action, failure
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Fault, Hang

LOST = failure("CONNECTION_LOST", may_be_done=True)
TIMED_OUT = failure("REQUEST_TIMED_OUT", code=7)


@pytest.mark.parametrize("answer", [LOST, TIMED_OUT])
def test_what_was_done_all_the_same_is_done(answer: Failure) -> None:
    """After a timeout the resource has the requested state, so the action is done."""
    things, rows = Things(answers={"a": answer}), Rows()
    (result,) = things.carry_out(action("a"), recorder=rows).results
    assert result.outcome is Outcome.DONE
    assert result.message is not None
    assert result.message.endswith("but its state shows that it was carried out")
    assert rows.written[-1][0].error_name == answer.name


@pytest.mark.parametrize("answer", [LOST, TIMED_OUT])
def test_what_is_as_before_may_still_be_carried_out(answer: Failure) -> None:
    """Brokers may be late, so the state is read repeatedly; a frozen broker may be later than that."""
    things = Things(answers={"a": answer}, undone={"a"})
    (result,) = things.carry_out(action("a")).results
    assert result.outcome is Outcome.UNKNOWN
    remark = "and 10 s later its state does not show that it was carried out: it may still be"
    assert result.message == f"{answer.name}, {remark}"
    assert things.hands.seconds == pytest.approx(DECIDE_MS / 1000)


def test_what_comes_late_is_done() -> None:
    """The state is read repeatedly, not once."""
    things = Things(answers={"a": TIMED_OUT}, undone={"a"})
    reads = []

    def late() -> None:
        reads.append(things.hands.seconds)
        if things.hands.seconds > 3:
            things.live["a"] = {"value": 1}

    things.on_read = late
    (result,) = things.carry_out(action("a")).results
    assert result.outcome is Outcome.DONE
    assert 3 < things.hands.seconds < 6


def test_another_state_decides_nothing() -> None:
    """Another client may have changed the resource, so the outcome is unknown."""
    things = Things(answers={"a": LOST}, undone={"a"})
    things.on_read = lambda: things.live.update({"a": {"value": 9}}) if things.sent else None
    (result,) = things.carry_out(action("a")).results
    assert result.outcome is Outcome.UNKNOWN


def test_a_state_that_cannot_show_the_change_decides_nothing() -> None:
    """The state of a user whose password was replaced is as before, and as it was asked for."""
    state = {"iterations": 4096}
    kind = replace(ALTER_SCRAM, read=lambda _cluster, some, _deadline: {one.resource: state for one in some})
    replaced = alter_scram(ScramCredential("alice", 1), state, 4096, Secret("x"))
    ((outcome, _),) = decided(Things().cluster(), kind, [(replaced, LOST)])
    assert outcome is Outcome.UNKNOWN


def test_a_state_that_cannot_be_read_decides_nothing() -> None:
    """If the state cannot be read, the outcome is unknown."""
    things = Things(answers={"a": LOST}, undone={"a"})
    things.on_read = lambda: things.live.update({"a": failure("DENIED")}) if things.sent else None
    (result,) = things.carry_out(action("a")).results
    assert result.outcome is Outcome.UNKNOWN
    assert result.message == "CONNECTION_LOST, and its state cannot be read (DENIED)"


def test_an_error_instead_of_a_state_decides_nothing() -> None:
    """An address that belongs to another cluster by now ends no run that has sent something: its outcomes are reported."""
    things, rows = Things(answers={"a": LOST}, undone={"a"}), Rows()

    def moved() -> None:
        if things.sent:
            raise ClusterRefused("kafka-1:9092: was cluster a and is now cluster b")

    things.on_read = moved
    (result,) = things.carry_out(action("a"), recorder=rows).results
    assert result.outcome is Outcome.UNKNOWN
    assert rows.brief()[-1] == [("finished", "a", "unknown")]


def test_a_request_that_a_broker_has_sent_twice() -> None:
    """Brokers repeat a request whose controller moves, and pass on the second answer: the state shows that the first was done."""
    exists = failure("TOPIC_ALREADY_EXISTS", code=36)
    things = Things(answers={"a": exists}, already=frozenset({36}))
    (result,) = things.carry_out(action("a")).results
    assert result.outcome is Outcome.DONE
    assert result.message == "TOPIC_ALREADY_EXISTS, but its state shows that it was carried out"


@pytest.mark.parametrize("live", [None, {"value": 9}, failure("DENIED")])
def test_an_answer_that_the_state_does_not_explain_stands(live: State | Failure) -> None:
    """Somebody else has made another resource of that name, or its state cannot be read: the action has failed."""
    exists = failure("TOPIC_ALREADY_EXISTS", code=36)
    things = Things(answers={"a": exists}, already=frozenset({36}), undone={"a"})
    things.on_send = lambda: things.live.update({"a": live})
    (result,) = things.carry_out(action("a")).results
    assert (result.outcome, result.failure) == (Outcome.FAILED, exists)


def test_only_the_unsure_are_looked_at_again() -> None:
    """A refusal decides the outcome, and a refused connection means that no request was sent."""
    assert is_unsure(failure("UNKNOWN_SERVER_ERROR", code=-1))
    assert is_unsure(failure("CONNECTION_FAILED", may_be_done=True))  # of the second request, after one that was lost
    assert all(is_unsure(failure(name)) for name in ("CONNECTION_LOST", "DEADLINE_PASSED", "PROTOCOL_ERROR"))
    assert not is_unsure(failure("TOPIC_AUTHORIZATION_FAILED", code=29))
    assert not is_unsure(failure("CONNECTION_FAILED"))
    things = Things(answers={"a": failure("DENIED", code=29), "b": LOST}, undone={"a", "b"})
    outcomes = [result.outcome for result in things.carry_out(action("a"), action("b")).results]
    assert outcomes == [Outcome.FAILED, Outcome.UNKNOWN]
    (done,) = Things().carry_out(action("a")).results
    assert (done.outcome, done.failure, done.message) == (Outcome.DONE, None, None)


def test_a_broker_that_is_frozen_leaves_time_for_others(
    state: FakeCluster, connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked first, and has all of the time that a request may take."""
    monkeypatch.setattr(outcomes, "DECIDE_MS", 4_000)
    cluster = connect(request_timeout_ms=60_000, default_api_timeout_ms=60_000)
    state.faults.append(Fault(METADATA.key, Hang(), 1, 100))
    created = create_topic("orders", partitions=len(state.topics["orders"].partitions))
    ((outcome, _),) = decided(cluster, CREATE_TOPIC, [(created, LOST)])
    assert outcome is Outcome.DONE
    assert state.faults[-1].times < 100
