"""Runs `lagoon kafka metadata` from start to end, against the same query with librdkafka and with Kafka's own tool.

All are whole processes, started each time, that print every topic and partition of one broker on this machine.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from confluent_kafka.admin import NewTopic

from kafka_lagoon.jars.java import class_path, java_command
from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.sandbox.kafka import DEFAULT_VERSION, LocalKafka
from tests.bench.measure import Comparison, Findings, Sample, alternate, process
from tests.integration.state import create_topics

_TOPICS, _PARTITIONS = 20, 5
_ROUNDS = 8
_PEER = """
import sys
from confluent_kafka.admin import AdminClient
found = AdminClient({"bootstrap.servers": sys.argv[1]}).list_topics(timeout=10)
for topic in sorted(found.topics.values(), key=lambda one: one.topic):
    for number, one in sorted(topic.partitions.items()):
        print(topic.topic, number, one.leader, one.replicas, one.isrs)
"""


def run() -> Findings:
    """Compare ours with its peers; kcat, a program in C, is included if it is installed."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, LocalKafka(Path(folder, "kafka")) as kafka:
        servers = kafka.bootstrap_servers
        create_topics(servers, [NewTopic(f"topic-{number:02}", _PARTITIONS, 1) for number in range(_TOPICS)])
        cases = {
            "ours": _listing(sys.executable, "-m", "kafka_lagoon", "kafka", "metadata", "-b", servers),
            "librdkafka": _listing(sys.executable, "-c", _PEER, servers),
            "java": _listing(*_topic_command(servers)),
            "nothing": _listing(sys.executable, "-c", f"print({'topic-00 0 ' * _TOPICS * _PARTITIONS!r})"),
        }
        if kcat := shutil.which("kcat"):
            cases["kcat"] = _listing(kcat, "-L", "-b", servers, each="    partition ")
        samples = alternate(cases, rounds=_ROUNDS)
    what = f"`lagoon kafka metadata`, one broker, {_TOPICS * _PARTITIONS} partitions, start to end"
    ours = samples["ours"]
    peers = {
        "kcat": "kcat -L",
        "librdkafka": "confluent-kafka's list_topics in a new interpreter",
        "java": "kafka-topics --describe",
    }
    idle = Comparison(what="", ours=ours, peer="", theirs=samples["nothing"])
    return Findings(
        comparisons=[
            Comparison(what=what, ours=ours, peer=peer, theirs=samples[name], measure=measure)
            for name, peer in peers.items()
            if name in samples
            for measure in ("wall_s", "cpu_s")
        ],
        notes=[f"An interpreter that only prints needs {idle.median(samples['nothing']):.3f} s of that."],
    )


def _topic_command(bootstrap_servers: str) -> list[str]:
    jars = class_path(jar_paths(f"kafka-{DEFAULT_VERSION}"))
    main_class = "org.apache.kafka.tools.TopicCommand"
    return java_command("-cp", jars, main_class, "--bootstrap-server", bootstrap_servers, "--describe")


def _listing(*command: str, each: str = "topic-") -> Callable[[], Sample]:
    """Make a case that checks that every partition is printed."""
    return process(*command, printed=each, times=_TOPICS * _PARTITIONS)
