"""Faults of brokers and of the connections to them."""

from typing import ClassVar

from tests.proof.network import Rule
from tests.proof.play.topics import Topics
from tests.proof.play.world import World


class Faults:
    """Faults that last until the round ends."""

    verbs: ClassVar = ("broker", "network", "revoke", "quota")

    def __init__(self, world: World, topics: Topics) -> None:
        self._world, self._topics = world, topics

    def broker(self, action: str, id: int) -> None:  # noqa: A002
        """Kill, stop or pause a broker, or the active controller (0), if all are up."""
        self._world.brokers.signal(action, id)

    def network(self, action: str, api: str, broker: int, ms: int, count: int) -> None:
        """Let proxies break what they pass on."""
        self._world.brokers.break_connections(Rule(action, api, broker, ms, count))

    def revoke(self, topic: str, operation: str) -> None:
        """Deny jobs an operation on a topic: without DESCRIBE lists lack it, and no broker says so."""
        live = self._topics.live.get(topic)
        if live and self._world.brokers.revoke(live.topic_id, live.name, operation):
            self._world.jobs.forget(live.topic_id)

    def quota(self, kb_per_second: int, percent: int) -> None:
        """Slow the brokers' answers to jobs down."""
        self._world.brokers.slow_down(kb_per_second, percent)
