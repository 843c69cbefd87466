"""The cluster that tests alter has the properties that its module documents."""

from kafka_lagoon.admin.quorum import describe_quorum, quorum_partitions
from kafka_lagoon.client.failures import Failure
from tests.integration.administered import Administered, soon


def test_the_cluster(administered: Administered) -> None:
    """It has three removable voters, two log directories each, and a tool that shows them."""
    with administered.cluster() as cluster:
        quorum = describe_quorum(cluster, soon())
    assert not isinstance(quorum, Failure)
    (partition,) = quorum_partitions(quorum)
    assert len(partition.current_voters) == 3
    described = administered.tool("org.apache.kafka.tools.FeatureCommand", "describe")
    assert "kraft.version" in described
    assert all(folder.is_dir() for node_id in (1, 2, 3) for folder in administered.kafka.data_folders(node_id))
    assert len(administered.kafka.data_folders(1)) == 2
    with administered.cluster("limited") as cluster:
        assert len(cluster.brokers) == 3
        assert isinstance(describe_quorum(cluster, soon()), Failure)
