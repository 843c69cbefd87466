"""Permissions that brokers do not state: what is concluded from an answer; real authorizers are asked in integration/test_secured.py."""

from collections.abc import Callable, Sequence

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.doctor.hidden_permissions import on_delegation_tokens, on_transactional_ids
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import AclDescription, DescribeAclsResource
from kafka_lagoon.protocol.messages.describe_transactions import (
    DESCRIBE_TRANSACTIONS,
    DescribedTransaction,
    DescribeTransactionsResponse,
)
from tests.clock import CLOCK
from tests.fake import security
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

LAGOON = "User:lagoon"
EVERYTHING = 1 << acls.CLUSTER_ACTION


def soon() -> Deadline:
    return Deadline.after(CLOCK, 5_000)


@pytest.mark.parametrize(("error_code", "expected"), [(53, False), (105, True), (16, True)])
def test_transactional_ids(
    state: FakeCluster, connect: Callable[..., Cluster], error_code: int, *, expected: bool
) -> None:
    """Only a refusal means that the ACL is missing: a broker that is no coordinator has authorized the request, too."""

    def described(_: DescribeTransactionsResponse) -> DescribeTransactionsResponse:
        of_nobody = DescribedTransaction(
            error_code=error_code,
            transactional_id="x",
            transaction_state="",
            transaction_timeout_ms=0,
            transaction_start_time_ms=0,
            producer_id=0,
            producer_epoch=0,
            topics=(),
        )
        return DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=(of_nobody,))

    state.faults.append(Fault(DESCRIBE_TRANSACTIONS.key, Altered(described), times=9))
    assert on_transactional_ids(connect(), soon())[0] is expected


def rule(operation: int, permission: int = acls.ALLOW, principal: str = LAGOON) -> AclDescription:
    return AclDescription(principal=principal, host="*", operation=operation, permission_type=permission)


def on_tokens(*rules: AclDescription, name: str = "*") -> DescribeAclsResource:
    return DescribeAclsResource(
        resource_type=acls.DELEGATION_TOKEN, resource_name=name, pattern_type=acls.LITERAL, acls=rules
    )


@pytest.mark.parametrize(
    ("resources", "principal", "operations", "expected"),
    [
        ([], LAGOON, 0, False),
        ([], None, 0, None),
        ([], LAGOON, EVERYTHING, True),  # a super user, who needs no ACL
        ([on_tokens(rule(acls.DESCRIBE))], LAGOON, 0, True),
        ([on_tokens(rule(acls.ALL))], LAGOON, 0, True),
        ([on_tokens(rule(acls.DESCRIBE, principal="User:*"))], None, 0, True),
        ([on_tokens(rule(acls.DESCRIBE, principal="User:other"))], LAGOON, 0, False),
        ([on_tokens(rule(acls.DESCRIBE), name="a token")], LAGOON, 0, False),
        ([on_tokens(rule(acls.DESCRIBE), rule(acls.ALL, acls.DENY))], LAGOON, EVERYTHING, False),
    ],
)
def test_delegation_tokens(
    state: FakeCluster,
    connect: Callable[..., Cluster],
    monkeypatch: pytest.MonkeyPatch,
    resources: Sequence[DescribeAclsResource],
    principal: str | None,
    operations: int,
    *,
    expected: bool | None,
) -> None:
    """An ACL on all tokens allows it; a DENY wins; without a name of ours only ACLs for everybody count."""
    for api, answer in security.ANSWERS:
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    monkeypatch.setattr(KafkaSettings, "principal", lambda _: principal)
    state.tokens, state.acls = (), tuple(resources)
    assert on_delegation_tokens(connect(), operations, soon())[0] is expected


def test_brokers_without_delegation_tokens(connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    """No permission is missing where there are none."""
    for api, answer in security.ANSWERS:
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    assert on_delegation_tokens(connect(), 0, soon()) == (True, "the brokers have no delegation tokens")
