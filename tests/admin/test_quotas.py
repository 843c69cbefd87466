"""Client quotas of fake brokers."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.quotas import alter_client_quotas, describe_client_quotas, entity_of
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.alter_client_quotas import ALTER_CLIENT_QUOTAS
from kafka_lagoon.protocol.messages.describe_client_quotas import DESCRIBE_CLIENT_QUOTAS, ClientQuotaEntity
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault
from tests.security_samples import quotas


@pytest.mark.usefixtures("security_apis")
def test_all_entities_come_with_one_request_to_each_of_two_brokers(state: FakeCluster, cluster: Cluster) -> None:
    """A filter without components matches every entity."""
    state.quotas = (quotas({"user": "a"}, producer_byte_rate=1.0), quotas({"ip": None}, connection_creation_rate=2.0))
    assert describe_client_quotas(cluster, soon()) == state.quotas
    assert [state.count(DESCRIBE_CLIENT_QUOTAS.key, node_id) for node_id in (1, 2, 3)] == [1, 1, 0]


@pytest.mark.usefixtures("security_apis")
def test_a_refusal_is_a_failure_and_no_empty_list(state: FakeCluster, cluster: Cluster) -> None:
    """Without permission the response has null entries."""
    state.cluster_operations = 0
    refused = describe_client_quotas(cluster, soon())
    assert isinstance(refused, Failure)
    assert (refused.name, str(refused.scope)) == ("CLUSTER_AUTHORIZATION_FAILED", "client quotas")


@pytest.mark.usefixtures("security_apis")
def test_a_list_that_is_left_out_is_a_failure(state: FakeCluster, cluster: Cluster) -> None:
    """Null entries without an error are not an empty list."""
    state.faults.append(
        Fault(DESCRIBE_CLIENT_QUOTAS.key, Altered(lambda answer: replace(answer, entries=None)), times=1_000)
    )
    left_out = describe_client_quotas(cluster, soon())
    assert isinstance(left_out, Failure)
    assert (left_out.name, str(left_out.scope)) == ("NOT_RETURNED", "client quotas")


@pytest.mark.usefixtures("altering_apis")
def test_alter_client_quotas_sets_and_removes(state: FakeCluster, cluster: Cluster) -> None:
    """None removes a limit, and other limits stay; a validation changes nothing."""
    state.quotas = (quotas({"user": "a"}, producer_byte_rate=1.0, consumer_byte_rate=2.0),)
    changes = {(("user", "a"),): {"producer_byte_rate": None, "request_percentage": 50.0}}
    assert not alter_client_quotas(cluster, changes, soon(), validate_only=True).failures
    assert [value.key for value in state.quotas[0].values] == ["producer_byte_rate", "consumer_byte_rate"]
    assert not alter_client_quotas(cluster, changes, soon()).failures
    (left,) = state.quotas
    assert {value.key: value.value for value in left.values} == {"consumer_byte_rate": 2.0, "request_percentage": 50.0}


def test_parts_of_one_type_have_an_order() -> None:
    """No broker answers them; a name and a default beside it were a traceback."""
    parts = [ClientQuotaEntity(entity_type="user", entity_name=name) for name in (None, "a")]
    assert entity_of([*parts, ClientQuotaEntity(entity_type="client-id", entity_name="b")]) == (
        ("client-id", "b"),
        ("user", None),
        ("user", "a"),
    )


@pytest.mark.usefixtures("altering_apis")
def test_a_refused_entity_fails_alone(state: FakeCluster, cluster: Cluster) -> None:
    """A failure names the entity by its parts, in a fixed order, with the broker's message."""

    def refuse(answer: Any) -> Any:
        (pair,) = (one for one in answer.entries if len(one.entity) == 2)
        refused = replace(pair, entity=pair.entity[::-1], error_code=42, error_message="Unknown key")
        return replace(answer, entries=(refused, *(one for one in answer.entries if one is not pair)))

    state.faults = [Fault(ALTER_CLIENT_QUOTAS.key, Altered(refuse))]
    pair, user = (("client-id", None), ("user", "a")), (("user", "a"),)
    gathered = alter_client_quotas(cluster, {pair: {"odd": 1.0}, user: {"producer_byte_rate": 1.0}}, soon())
    assert gathered.answers == {user: None}
    assert (str(gathered.failures[pair].scope), gathered.failures[pair].message) == (
        "quota client-id=<default>, user=a",
        "Unknown key",
    )
    assert entity_of(state.quotas[0].entity) == pair
