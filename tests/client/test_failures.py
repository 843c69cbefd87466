"""A failure is made in one place, from an error code or from the error of a request without a response."""

import ast
from pathlib import Path

import pytest

import kafka_lagoon
from kafka_lagoon.client.failures import _NAMES, UNSUPPORTED, Scope, ScopeType, failure_of, own_failure, refusal_name
from kafka_lagoon.client.metadata_checks import CONTRADICTION, NOT_RETURNED
from kafka_lagoon.errors import (
    AddressRefused,
    AuthenticationFailed,
    BrokerError,
    ConnectionFailed,
    ConnectionLost,
    DeadlinePassed,
    DecodeError,
    PipelineError,
    UnsupportedVersion,
)
from kafka_lagoon.protocol.messages.metadata import METADATA
from tests.documents import page

PRODUCT = Path(kafka_lagoon.__file__).parent
SCOPES = (
    (Scope.cluster(), "cluster"),
    (Scope.broker(3), "broker 3"),
    (Scope.of_topic("orders"), "topic orders"),
    (Scope.topics(12), "12 topics"),
    (Scope.of_partition("orders", 0), "orders-0"),
    (Scope.of_partition("orders", 0, "offsets 3 to 5"), "orders-0 offsets 3 to 5"),
    (Scope.group("billing"), "group billing"),
    (Scope.group_partition("billing", "orders", 3), "group billing, orders-3"),
    (Scope(scope_type=ScopeType.MEMBER, group_id="billing", member_id="m"), "group billing, member m"),
    (Scope.transaction("pay"), "transaction pay"),
    (Scope.of_log_dir(1, "/data"), "broker 1, /data"),
    (Scope.config("client_metrics m"), "client_metrics m"),
    (Scope.config("settings of 2 groups", 2), "settings of 2 groups"),
    (Scope.list("all topics"), "all topics"),
    (Scope.of_line(7), "line 7"),
)


@pytest.mark.parametrize(("scope", "text"), SCOPES)
def test_a_scope_in_words(scope: Scope, text: str) -> None:
    """A failure's subject has one spelling, with its type before the name if the name alone would be ambiguous."""
    assert str(scope) == text


def test_every_type_of_scope_has_a_spelling() -> None:
    """Every declared type of scope is used."""
    assert {scope.scope_type for scope, _ in SCOPES} == set(ScopeType)


def test_scopes_are_values() -> None:
    """Failures are found by their scope: a group with the name of a partition is not that partition."""
    assert Scope.group("orders-0") != Scope.of_partition("orders", 0)
    assert len({Scope.of_partition("orders", 0), Scope.of_partition("orders", 0)}) == 1


@pytest.mark.parametrize(
    ("refusal", "name", "code"),
    [
        (3, "UNKNOWN_TOPIC_OR_PARTITION", 3),
        (9_999, "UNKNOWN_CODE_9999", 9_999),
        (BrokerError(29, "TOPIC_AUTHORIZATION_FAILED", "Metadata", "t"), "TOPIC_AUTHORIZATION_FAILED", 29),
        (UnsupportedVersion("Metadata", (4, 13), None, "broker 1", None), UNSUPPORTED, None),
        (DeadlinePassed("broker 1", "exchange", 100), "DEADLINE_PASSED", None),
        (ConnectionLost("broker 1", "exchange", "gone", 1), "CONNECTION_LOST", None),
        (ConnectionFailed("broker 1", "connect", "refused"), "CONNECTION_FAILED", None),
    ],
)
def test_names_of_refusals(refusal: PipelineError | int, name: str, code: int | None) -> None:
    """Failures have Kafka's name if a broker returned a code, else ours."""
    failure = failure_of(METADATA, Scope.cluster(), refusal, node_id=1, attempts=2, elapsed_ms=5)
    assert (failure.name, failure.code, failure.api) == (name, code, "Metadata")
    assert (failure.node_id, failure.attempts, failure.elapsed_ms, failure.may_be_done) == (1, 2, 5, False)
    assert refusal_name(refusal) == name


def test_every_error_of_ours_has_a_name() -> None:
    """The more specific error decides; any other error in a response is a protocol error."""
    assert issubclass(ConnectionLost, ConnectionFailed)
    names = [refusal_name(error.__new__(error)) for error in (AddressRefused, AuthenticationFailed, DecodeError)]
    assert names == ["ADDRESS_REFUSED", "AUTHENTICATION_FAILED", "PROTOCOL_ERROR"]


def test_what_we_find_ourselves() -> None:
    """No broker has returned it, so there is neither a code nor a node."""
    failure = own_failure(METADATA, Scope.of_topic("t"), "NOT_LISTED", "no broker lists it")
    assert (failure.api, failure.name, failure.message) == ("Metadata", "NOT_LISTED", "no broker lists it")
    assert (failure.node_id, failure.code, failure.attempts) == (None, None, 1)


def test_failures_are_constructed_in_one_place() -> None:
    """`Failure(...)` is only called in client/failures.py, so that scopes, codes and names agree."""
    callers = {
        path.relative_to(PRODUCT).as_posix()
        for path in PRODUCT.rglob("*.py")
        if "Failure(" in (source := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "Failure"
    }
    assert callers == {"client/failures.py"}


def test_the_page_of_tables_has_the_names_of_every_request() -> None:
    """Columns `problem` list only names that are their own."""
    names = {name for _, name in _NAMES} | {"PROTOCOL_ERROR", CONTRADICTION, NOT_RETURNED}
    assert {name for name in names if name not in page("tables")} == set()
