"""Faults of brokers, of the connections to them, of logins and clocks, and of the object store."""

from contextlib import ExitStack
from typing import ClassVar

from tests.object_store import ObjectStore
from tests.proof.network import Rule
from tests.proof.play.topics import Topics
from tests.proof.play.world import World

_REFUSED = 503


class Faults:
    """Faults that last until the round ends."""

    verbs: ClassVar = (
        "broker",
        "network",
        "cut_off",
        "fail_log_dir",
        "fill_disk",
        "revoke",
        "quota",
        "clock",
        "rotate",
        "bucket",
        "store",
    )

    def __init__(self, world: World, topics: Topics) -> None:
        self._world, self._topics = world, topics
        self._unknown_password: str | None = None
        self._of_store = ExitStack()

    def bucket(self) -> None:
        """Say that the tables of this history are in a bucket, from its beginning."""

    def store(self, action: str, each: int = 1) -> None:
        """Let the object store `refuse` each N-th request, or `lose` the first answer to a PUT of each object, until the round ends."""
        if store := self._world.store:
            self._of_store.close()
            self._of_store.enter_context(store.refusing(each) if action == "refuse" else store.losing_answers(""))
            self._of_store.callback(self._count_requests, store, action, len(store.requests()))

    def _count_requests(self, store: ObjectStore, action: str, since: int) -> None:
        """Count a fault that some request has met."""
        met = (
            one.status == _REFUSED if action == "refuse" else one.method == "PUT" for one in store.requests()[since:]
        )
        self._world.happened[f"store: {action}"] += any(met)

    def broker(self, action: str, id: int) -> None:  # noqa: A002
        """Kill, stop or pause a broker, or the active controller (0), if all are up."""
        self._world.brokers.signal(action, id)

    def network(self, action: str, api: str, broker: int, ms: int, count: int) -> None:
        """Let proxies break what they pass on."""
        self._world.brokers.break_connections(Rule(action, api, broker, ms, count))

    def cut_off(self, id: int, side: str) -> None:  # noqa: A002
        """Cut a broker, or the active controller (0), off from `peers` or `controllers`; clients still reach it."""
        self._world.brokers.cut_off(id, side)

    def fail_log_dir(self, id: int) -> None:  # noqa: A002
        """Take one of a broker's two log dirs away."""
        self._world.brokers.fail_log_dir(id)

    def fill_disk(self, id: int) -> None:  # noqa: A002
        """Fill the disks of a broker, which ends."""
        self._world.brokers.fill_disk(id)

    def revoke(self, topic: str, operation: str) -> None:
        """Deny jobs an operation on a topic: without DESCRIBE lists lack it, and no broker says so."""
        live = self._topics.live.get(topic)
        if live and self._world.brokers.revoke(live.topic_id, live.name, operation):
            self._world.jobs.forget(live.topic_id)

    def quota(self, kb_per_second: int, percent: int) -> None:
        """Slow the brokers' answers to jobs down."""
        self._world.brokers.slow_down(kb_per_second, percent)

    def clock(self, seconds: int) -> None:
        """Let the clock of all jobs step, those that run and those that start."""
        if self._world.clocks.step(seconds):
            self._world.happened["clock steps"] += 1

    def rotate(self, known: int) -> None:
        """Give the user of the jobs another password; jobs that start know it at once, or when the round ends."""
        if self._world.brokers.down:
            return
        password = self._world.credentials.rotate()
        self._world.happened["passwords rotated"] += 1
        if known:
            self._world.jobs.password, self._unknown_password = password, None
        else:
            self._unknown_password = password

    def mend(self) -> None:
        """Set the clock right, let the object store serve again, and give the jobs the password that brokers know."""
        self._of_store.close()
        if self._world.clocks.is_wrong:
            self._world.clocks.step(0)
        if self._unknown_password:
            self._world.jobs.password, self._unknown_password = self._unknown_password, None
