"""A run that alters a cluster, as a process of its own, and kills itself at a given step, like `kill -9`.

    python -m tests.integration.dying_alteration BOOTSTRAP WAREHOUSE PREFIX CLASS METHOD COUNT before|after

It creates topics PREFIX-new-0 and PREFIX-new-1, sets a config of PREFIX-kept and deletes PREFIX-old, and kills itself before
or after the COUNT-th call of a method of AdminActions, Kernel or Transport from then on. It prints how many calls there were if
it lives.
"""

import sys

from kafka_lagoon.admin.config_values import ConfigResource, config_values
from kafka_lagoon.admin.topics import describe_topics
from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.apply.execution import execute, make_plan
from kafka_lagoon.apply.kinds.configs import change_configs
from kafka_lagoon.apply.kinds.topics import create_topic, delete_topic
from kafka_lagoon.apply.recording import Run
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.transport import Transport
from kafka_lagoon.clock import Deadline
from kafka_lagoon.delta.admin_actions import AdminActions, recording, warehouse_for_actions
from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from tests.clock import CLOCK
from tests.delta.other_run import die_at
from tests.warehouses import settings

MORTAL = {one.__name__: one for one in (AdminActions, Kernel, Transport)}


def actions_of(cluster: Cluster, prefix: str, deadline: Deadline) -> list[Action]:
    """Make one action of each kind."""
    old, kept = f"{prefix}-old", f"{prefix}-kept"
    topic = describe_topics(cluster, [old], deadline)[old]
    (values,) = config_values(cluster, [ConfigResource(TOPIC, kept)], deadline).values()
    assert topic
    assert not isinstance(topic, Failure)
    assert not isinstance(values, Failure)
    changed = change_configs(ConfigResource(TOPIC, kept), values, {"max.message.bytes": "4321"})
    assert changed
    created = [create_topic(f"{prefix}-new-{number}", partitions=1, replication_factor=1) for number in range(2)]
    return [*created, changed, delete_topic(topic)]


def main(bootstrap: str, warehouse: str, prefix: str, *death: str) -> None:
    """Run as the module's docstring describes."""
    given = settings(f"warehouse={warehouse}", f"kafka.bootstrap_servers={bootstrap}")
    kafka = given.named_clusters()["default"]
    deadline = Deadline.after(CLOCK, 30_000)
    with (
        warehouse_for_actions(given, CLOCK, "admin") as opened,
        recording(opened, "default", CLOCK) as recorder,
        Cluster.connect(kafka, CLOCK, RequestStats(), deadline) as cluster,
    ):
        plan = make_plan("default", cluster.cluster_id or "", actions_of(cluster, prefix, deadline))
        name, method, count, when = death
        die_at(MORTAL[name], method, int(count), when)
        execute(cluster, plan, list(Guard), Run.new("admin", kafka, CLOCK.now_ms()), recorder, deadline)


if __name__ == "__main__":
    main(*sys.argv[1:])
