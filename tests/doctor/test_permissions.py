"""The doctor names the permissions on groups that it does not know; real authorizers are asked in integration/test_secured.py."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kafka_lagoon.admin.authorized_operations import topic_operations
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.doctor.permissions import Needs, permissions
from kafka_lagoon.errors import BrokerError
from kafka_lagoon.protocol.acls import CLUSTER, DESCRIBE, GROUP, TOPIC
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS, ListGroupsResponse
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from tests.clock import CLOCK
from tests.fake import security
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster, FakeGroup
from tests.fake.faults import Altered, Fault


def test_operations_on_topics(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Bits that only one of three brokers returns are not believed."""

    def every_operation(response: MetadataResponse) -> MetadataResponse:
        topics = tuple(replace(topic, topic_authorized_operations=0xFF) for topic in response.topics)
        return replace(response, topics=topics)

    cluster = connect()
    true = topic_operations(cluster, ["orders"], Deadline.after(CLOCK, 5_000))
    state.faults.append(Fault(METADATA.key, Altered(every_operation), node_id=1))
    assert true
    assert topic_operations(cluster, ["orders"], Deadline.after(CLOCK, 5_000)) == true


def test_refused_operations_on_topics(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Brokers that answer in three ways are an error, and not everything is allowed."""

    def odd(bits: int) -> Altered:
        return Altered(
            lambda response: replace(
                response, topics=tuple(replace(topic, topic_authorized_operations=bits) for topic in response.topics)
            )
        )

    cluster = connect()
    state.faults += [Fault(METADATA.key, odd(1 << node), node_id=node, times=9) for node in (1, 2, 3)]
    with pytest.raises(BrokerError, match="CONTRADICTORY_ANSWER"):
        topic_operations(cluster, ["orders"], Deadline.after(CLOCK, 5_000))


NEEDS = (Needs(command="snapshot", permissions=(Permission(DESCRIBE, GROUP, "lag is refused"),)),)


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_broker_that_lists_no_groups(
    state: FakeCluster, connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch, *, is_listed: bool
) -> None:
    """Permissions on groups are not checked if a broker does not list its groups, and the result has the reason."""
    for api, answer in security.ANSWERS:
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    state.acls = ()
    state.groups = {"a": FakeGroup(coordinator_id=1), "b": FakeGroup(coordinator_id=2)}
    if not is_listed:
        refused = Altered(lambda _: ListGroupsResponse(error_code=31, groups=()))
        state.faults.append(Fault(LIST_GROUPS.key, refused, node_id=2, times=1_000))
    [result] = permissions("test", connect(), NEEDS, Deadline.after(CLOCK, 5_000))
    assert ("CLUSTER_AUTHORIZATION_FAILED" in result.observed) == (not is_listed)
    assert (result.status == "not_checked") >= (not is_listed)


def test_a_request_that_fails(
    state: FakeCluster, connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the result of the permissions that it is about, beside those of the others."""
    for api, answer in security.ANSWERS:
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    state.acls = ()

    def odd(node: int) -> Altered:
        def change(response: MetadataResponse) -> MetadataResponse:
            topics = tuple(replace(topic, topic_authorized_operations=1 << node) for topic in response.topics)
            return replace(response, topics=topics)

        return Altered(change)

    cluster = connect()
    state.faults += [Fault(METADATA.key, odd(node), node_id=node, times=1_000) for node in (1, 2, 3)]
    wanted = [Permission(DESCRIBE, kind, "rows are missing") for kind in (CLUSTER, TOPIC)]
    of_cluster, of_topics = permissions(
        "test", cluster, (Needs(command="snapshot", permissions=wanted),), Deadline.after(CLOCK, 5_000)
    )
    assert (of_cluster.status, of_topics.status) == ("ok", "failed")
    assert "CONTRADICTORY_ANSWER" in of_topics.observed
    assert of_topics.subject == "test: snapshot: DESCRIBE on Topic"
