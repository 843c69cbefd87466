"""Brings a cluster to its desired state: connect, plan, carry out.

The plan is made from the current state of the cluster; before it is carried out, the state is checked again.
"""

from collections.abc import Callable
from typing import TypeVar

from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.plan import PlanResult, plan_state
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings

R = TypeVar("R")


def apply_state(
    kafka: KafkaSettings,
    desired: DesiredState,
    deadline: Deadline,
    request_stats: RequestStats,
    carry_out: Callable[[Cluster, PlanResult], R],
) -> R:
    """The result of `carry_out` for the plan, with a connected cluster.

    `deadline` is that of connecting and planning. ConfigError lists every fault that the live cluster shows.
    """
    with Cluster.connect(kafka, deadline.clock, request_stats, deadline) as cluster:
        cluster.waits = True  # a broker that restarts from now on is waited for
        return carry_out(cluster, plan_state(cluster, desired, deadline))
