"""Verdicts find what is silently wrong, and believe only what is reported beside it."""

from typing import Any

import pytest

from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataBroker, MetadataResponse
from kafka_lagoon.snapshot.topology import TOPIC_RECREATED
from kafka_lagoon.wire.writing import encode
from tests.fake.mutations import Mutation
from tests.proof.answers.alterations import ALL, FOR_EVER, ONCE, ONE, Alteration, Alterer, alterations, decoded
from tests.proof.answers.indistinguishable import reason_of
from tests.proof.answers.outcomes import Outcome
from tests.proof.answers.replay import Request
from tests.proof.answers.verdicts import Verdict, differences, verdict

TRUE = Outcome(facts={"lag": [{"group": "a", "lag": 5, "problem": None}, {"group": "b", "lag": 7, "problem": None}]})


def altered(*rows: dict[str, Any], reported: frozenset[str] = frozenset()) -> Outcome:
    return Outcome(facts={"lag": rows}, reported=reported)


A, B = ({"group": name, "lag": lag, "problem": None} for name, lag in (("a", 5), ("b", 7)))


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (altered(A, B), Verdict.RIGHT),
        (altered(B, A, reported=frozenset({"exit 3"})), Verdict.RIGHT),
        (altered(A, {**B, "lag": 8}), Verdict.WRONG),
        (altered(A), Verdict.WRONG),
        (altered(A, B, B), Verdict.WRONG),
        (altered(A, {**B, "lag": None}), Verdict.WRONG),
        (altered(A, {**B, "lag": None, "problem": "NOT_RETURNED"}), Verdict.TOLD),
        (altered(A, {**B, "lag": 8, "problem": "NOT_RETURNED"}), Verdict.WRONG),
        (altered(A, reported=frozenset({"exit 3"})), Verdict.TOLD),
        (Outcome(reported=frozenset({"ConnectionFailed: none answers"})), Verdict.TOLD),
        (Outcome(), Verdict.WRONG),
    ],
)
def test_verdicts(outcome: Outcome, expected: Verdict) -> None:
    """Another value, a row too many or too few, and a null without its reason are wrong, unless the run tells."""
    assert verdict(TRUE, outcome) == expected


def test_what_was_told_before_tells_nothing() -> None:
    """A line that the unaltered run has, too, does not excuse other facts."""
    reported = frozenset({"coverage ListGroups filtered"})
    true = Outcome(facts=TRUE.facts, reported=reported)
    assert verdict(true, altered(A, reported=reported)) == Verdict.WRONG
    assert [(table, was) for table, was, now in differences(true, altered(A)) if now is None] == [("lag", B)]


@pytest.mark.parametrize(
    ("problem", "lag", "expected"),
    [
        (TOPIC_RECREATED, None, Verdict.TOLD),
        (TOPIC_RECREATED, 4, Verdict.WRONG),
        ("ANOTHER", None, Verdict.WRONG),
        (None, None, Verdict.WRONG),
    ],
)
def test_the_id_of_a_topic_that_was_recreated(problem: str | None, lag: int | None, expected: Verdict) -> None:
    """Rows of a topic that is reported as re-created may have the id of either topic, and no other values."""

    def outcome(topic_id: str, problem: str | None, lag: int | None) -> Outcome:
        topic = {"topic": "t", "topic_id": topic_id}
        return Outcome(facts={"topics": [{**topic, "problem": problem}], "lag": [{**topic, "lag": lag}]})

    assert verdict(outcome("a", None, 5), outcome("b", problem, lag)) == expected


def test_configs_of_a_topic_that_was_created() -> None:
    """Rows about a topic that is reported as created may be missing; topics may be in another order."""
    topics = [{"topic": name, "partitions": 3, "problem": None} for name in ("t", "a")]
    configs = [{"resource_type": kind, "resource_name": "a", "name": "x", "value": "1"} for kind in ("topic", "broker")]
    created = [{"topic": name, "partitions": None, "problem": "TOPIC_CREATED"} for name in ("a", "t")]
    true = Outcome(facts={"topics": topics, "configs": configs})
    assert verdict(true, Outcome(facts={"topics": created, "configs": configs[1:]})) == Verdict.TOLD
    assert verdict(true, Outcome(facts={"topics": created, "configs": []})) == Verdict.WRONG
    assert verdict(true, Outcome(facts={"topics": topics, "configs": configs[1:]})) == Verdict.WRONG


def recorded(*brokers: str) -> tuple[Request, bytes]:
    several = tuple(MetadataBroker(node_id=number, host=host, port=9092) for number, host in enumerate(brokers))
    version = METADATA.versions.highest
    answer = b"\0" + encode(MetadataResponse(brokers=several, topics=()), version, METADATA.is_flexible(version))
    return Request("localhost:9092", METADATA.key, version, b""), answer


def test_alterations_are_made_of_the_fields() -> None:
    """Each list and value of an answer is altered by one broker and by all, once and for ever; each name is unique."""
    request, answer = recorded("first", "second")
    several = list(alterations("snapshot", {request: answer}))
    names = [str(one) for one in several]
    assert len(set(names)) == len(names) > 100
    assert "snapshot Metadata brokers doubled (one, once)" in names
    assert "snapshot Metadata brokers.port one higher (all, for ever)" in names
    for alteration in several:
        assert Alterer(alteration)(request, answer) != answer


@pytest.mark.parametrize(("who", "how_often", "expected"), [(ONE, ONCE, [1, 0]), (ALL, FOR_EVER, [1, 1])])
def test_who_alters_and_how_often(who: str, how_often: str, expected: list[int]) -> None:
    """One broker alters its own answers only, and `once` is over after one altered answer."""
    request, answer = recorded("first", "second")
    change = Mutation(("brokers",), "without the first", lambda items: items[1:])
    alterer = Alterer(Alteration("snapshot", "Metadata", change, who, how_often, request.address))
    lost = [2 - len(decoded(request, alterer(request, answer)).brokers) for _ in range(2)]
    assert lost == expected
    other = Request("localhost:9093", *(getattr(request, name) for name in ("api_key", "version", "body")))
    assert (alterer(other, answer) == answer) == (who == ONE)


def test_what_is_never_indistinguishable() -> None:
    """Neither an item twice nor an error code is declared, nor what another broker can be asked, too; fields are declared alone."""

    def reason(kind: str, path: str, name: str, who: str) -> str | None:
        change = Mutation(tuple(path.split(".")), name, lambda value: value)
        return reason_of(Alteration("snapshot", kind, change, who, ONCE, "localhost:9092"))

    assert reason("ListOffsets[-1]", "topics.partitions.offset", "one higher", ONE)
    assert reason("Metadata", "brokers.port", "one higher", ALL)
    assert not reason("Metadata", "brokers.port", "one higher", ONE)
    assert not reason("ListOffsets[-1]", "topics.partitions", "doubled", ONE)
    assert not reason("ListOffsets[-1]", "topics.partitions.error_code", "= 7", ALL)
    assert not reason("ListOffsets[-1]", "topics.partitions.partition_index", "one higher", ALL)
    assert not reason("ListOffsets[-1]", "topics.partitions.offset", "= -7777", ALL)
    assert reason("OffsetFetch", "groups.topics.partitions.committed_offset", "= -7777", ONE)
    assert reason("ApiVersions", "error_code", "= 35", ONE)
    assert not reason("ApiVersions", "error_code", "= 7", ONE)
