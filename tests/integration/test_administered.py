"""The cluster that tests alter has the properties that its module documents."""

import json

from confluent_kafka.admin import NewTopic

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


def test_tools_see_earlier_changes(administered: Administered) -> None:
    """Each broker has started the log of a topic before a tool asks it, though it is created a moment after the answer."""
    topics = [NewTopic(f"seen-{number}", 1, 3) for number in range(5)]
    for creation in administered.admin.create_topics(topics).values():
        creation.result(30)
    printed = administered.tool("org.apache.kafka.tools.LogDirsCommand", "--describe", "--broker-list", "1,2,3")
    stored = {
        broker["broker"]: {replica["partition"] for log_dir in broker["logDirs"] for replica in log_dir["partitions"]}
        for broker in json.loads(printed[printed.index("{") :])["brokers"]
    }
    wanted = {f"{topic.topic}-0" for topic in topics}
    assert {broker: wanted & known for broker, known in stored.items()} == dict.fromkeys((1, 2, 3), wanted)
