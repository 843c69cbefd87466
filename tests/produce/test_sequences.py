"""Sequence numbers count written records; InitProducerId is retried until it succeeds or is refused."""

from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import BrokerError
from kafka_lagoon.produce.sending import Delivery
from kafka_lagoon.produce.sequences import init_producer_id
from kafka_lagoon.protocol.messages.init_producer_id import INIT_PRODUCER_ID
from kafka_lagoon.protocol.messages.produce import PRODUCE
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault
from tests.produce.conftest import RECORDS, ends, refuse, soon, write


def test_numbers_count_what_was_written(state: FakeCluster, cluster: Cluster) -> None:
    """Each partition's sequence continues; a refused batch leaves no gap."""
    sequences = init_producer_id(cluster, soon())
    state.faults.append(Fault(PRODUCE.key, refuse(10), node_id=1))
    for written in (2, 3, 3):
        result = write(cluster, sequences, Delivery())
        for partition in result.answers:
            sequences.advance(partition, len(RECORDS))
        assert len(result.answers) == written
    assert sorted(ends(state)) == [4, 6, 6]


def test_a_producer_id_that_is_refused(state: FakeCluster, cluster: Cluster) -> None:
    """CLUSTER_AUTHORIZATION_FAILED is final; while the coordinator is loading the request is repeated."""

    def change(code: int) -> Altered:
        def changed(response: Any) -> Any:
            response.error_code = code
            return response

        return Altered(changed)

    state.faults.append(Fault(INIT_PRODUCER_ID.key, change(14)))
    assert init_producer_id(cluster, soon()).producer.producer_id >= 4_000
    state.faults.append(Fault(INIT_PRODUCER_ID.key, change(31)))
    with pytest.raises(BrokerError, match="CLUSTER_AUTHORIZATION_FAILED"):
        init_producer_id(cluster, soon())
