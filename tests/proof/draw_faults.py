"""Draws the faults of a history: the kinds that there are, how often each is drawn, and its steps."""

import random
from collections.abc import Callable, Iterator, Mapping

from tests.proof.history import Step

STEPS: Mapping[str, tuple[str, ...]] = {  # of a job's log, at which its processes are killed
    "ingest": ("start", "plan", "read", "read", "commit", "commit"),
    "restore": ("topics", "write", "write", "write", "check"),
    "apply": ("start", "recorded", "recorded", "recorded"),
    "snapshot": ("start", "cluster", "groups", "producers", "producers", "producers"),  # publishing follows the last
}
# Kind of fault, and how often it is drawn. `--only` names one of them.
FAULTS: Mapping[str, int] = {
    "driver": 10,
    "worker": 5,
    "executor": 1,
    "freeze": 2,
    "broker": 6,
    "network": 8,
    "controller": 2,
    "leaders": 3,
    "coordinators": 2,
    "delete": 3,
    "expire": 2,
    "recreate": 3,
    "grow": 3,
    "unclean": 2,
    "revoke": 2,
    "quota": 2,
    "rival": 2,
    "maintain": 3,
    "restore": 2,
    "foreign": 2,
    "apply": 4,
    "rewrite": 4,
    "retain": 2,
    "clock": 2,
    "rotate": 2,
    "cut_off": 3,
    "sink": 3,
    "log_dir": 2,
    "disk": 2,
    "store": 8,  # of histories in a bucket
}
RETAINS_AFTER = 3  # days, of records that are kept for one
_CLOCK_STEPS_S = (2, 60, 3_600, 86_400, 259_200)
_BROKEN_APIS = (
    "any",
    "fetch",
    "fetch",
    "list_offsets",
    "metadata",
    "offset_fetch",
    "find_coordinator",
    "list_groups",
    "create_topics",
    "create_partitions",
    "delete_topics",
    "incremental_alter_configs",
)


class DrawnFaults:
    """The faults of one history: they depend on its topics, and on what was drawn before."""

    def __init__(self, chance: random.Random, kinds: Mapping[str, str]) -> None:
        self._chance = chance
        self._kinds = kinds  # of the topics, by name; the caller adds to it
        self._slots = 0
        self._applied: dict[str, int] = {}  # partitions, which cannot be removed

    def snapshot(self) -> Step:
        """Draw a snapshot."""
        self._slots += self._chance.random() < 0.7  # sometimes the slot of another one
        return Step.of("snapshot", slot=1 + self._slots)

    def of_kind(self, kind: str) -> Iterator[Step]:
        """Draw a fault of a kind."""
        draws: Mapping[str, Callable[[], Iterator[Step]]] = {
            "driver": self._driver,
            "worker": lambda: self.killed("ingest", "worker", ("read",), 1_500),
            "executor": lambda: self.killed("ingest", "executor", ("read",), 1_500),
            "freeze": self._freeze,
            "broker": self._broker,
            "network": self._network,
            "controller": self._controller,
            "leaders": lambda: self._about_a_topic("move", {}),
            "coordinators": lambda: iter([Step.of("move_coordinators")]),
            "delete": lambda: self._about_a_topic("delete_records", {"percent": self._chance.choice((1, 30, 100))}),
            "expire": lambda: self._about_a_topic("expire", {}, "short"),
            "recreate": lambda: self._about_a_topic("recreate", {}),
            "grow": lambda: self._about_a_topic("grow", {"by": self._chance.randint(1, 3)}),
            "unclean": lambda: self._about_a_topic("unclean", {"records": 1_000}, "unclean"),
            "revoke": lambda: self._about_a_topic("revoke", {"operation": self._chance.choice(("READ", "DESCRIBE"))}),
            "quota": self._quota,
            "rival": self._rival,
            "maintain": self._maintain,
            "restore": self._restore,
            "foreign": self._foreign,
            "apply": self._apply,
            "rewrite": self._rewrite,
            "retain": self._retain,
            "clock": self._clock,
            "rotate": self._rotate,
            "cut_off": self._cut_off,
            "sink": self._sink,
            "log_dir": lambda: self._storage("fail_log_dir"),
            "disk": lambda: self._storage("fill_disk"),
            "store": self._store,
        }
        yield from draws[kind]()

    def killed(self, job: str, whom: str, steps: tuple[str, ...], within_ms: int) -> Iterator[Step]:
        """Draw the moment at which processes of a job are killed."""
        yield self._signal("kill", job, whom, steps, within_ms)

    def killed_broker(self) -> Iterator[Step]:
        """Draw a broker that is killed."""
        yield Step.of("broker", action="kill", id=self._chance.randint(1, 3))
        yield Step.of("wait", ms=self._chance.randrange(4_000))

    def _signal(self, verb: str, job: str, whom: str, steps: tuple[str, ...], within_ms: int) -> Step:
        chance = self._chance
        ms = chance.choice((0, chance.randrange(200), chance.randrange(within_ms)))
        return Step.of(verb, job=job, whom=whom, step=chance.choice(steps), ms=ms)

    def _driver(self) -> Iterator[Step]:
        """Kill drivers again and again: each death takes a start of Spark, or the shorter one of a snapshot."""
        whom = self._chance.choice(("group", "group", "driver", "jvm"))
        yield from self.killed("ingest", whom, STEPS["ingest"], 3_000)
        for _ in range(self._chance.randint(0, 3)):
            yield self.snapshot()
            yield from self.killed("snapshot", whom, STEPS["snapshot"], 4_000)

    def _freeze(self) -> Iterator[Step]:
        job = self._chance.choice(("ingest", "snapshot"))
        yield self._signal("freeze", job, "group", STEPS[job], 1_000)
        yield from self._rival()

    def _broker(self) -> Iterator[Step]:
        chance = self._chance
        yield Step.of("broker", action=chance.choice(("kill", "kill", "pause", "stop")), id=chance.randint(1, 3))
        yield Step.of("wait", ms=chance.randrange(8_000))

    def _controller(self) -> Iterator[Step]:
        yield Step.of("broker", action=self._chance.choice(("kill", "pause")), id=0)
        yield Step.of("wait", ms=self._chance.randrange(8_000))

    def _quota(self) -> Iterator[Step]:
        yield Step.of(
            "quota", kb_per_second=self._chance.choice((50, 300, 2_000)), percent=self._chance.choice((2, 20))
        )
        yield Step.of("wait", ms=self._chance.randrange(6_000))

    def _network(self) -> Iterator[Step]:
        chance = self._chance
        action = chance.choice(("swallow", "delay", "delay", "reset", "reset", "truncate", "truncate", "cut"))
        api = "any" if action == "cut" else chance.choice(_BROKEN_APIS)
        count = 1_000_000 if action == "cut" else chance.choice((1, 3, 20))
        yield Step.of(
            "network",
            action=action,
            api=api,
            broker=chance.choice((1, 2, 3)) if action == "cut" else chance.choice((0, 0, 1, 2, 3)),
            ms=chance.choice((50, 500, 6_000)) if action == "delay" else 0,
            count=count,
        )
        yield Step.of("wait", ms=chance.randrange(6_000))

    def _about_a_topic(self, verb: str, options: Mapping[str, int | str], kind: str | None = None) -> Iterator[Step]:
        names = [name for name, of in self._kinds.items() if kind in (None, of)]
        if names:
            yield Step.of(verb, topic=self._chance.choice(names), **options)

    def _rival(self) -> Iterator[Step]:
        yield Step.of("ingest") if self._chance.random() < 0.5 else self.snapshot()

    def _restore(self) -> Iterator[Step]:
        """Kill restores of what is archived by then, which needs a snapshot that knows the topic."""
        yield Step.of("rest")
        yield self.snapshot()
        yield Step.of("rest")
        topic = self._chance.choice(sorted(self._kinds))
        for _ in range(self._chance.randint(1, 2)):
            whom = self._chance.choice(("group", "driver", "worker"))
            by_executors = int(whom != "driver")
            yield Step.of("restore", topic=topic, master="repeating", by_executors=by_executors)
            yield from self.killed("restore", whom, STEPS["restore"], 2_000)
            yield Step.of("rest")

    def _foreign(self) -> Iterator[Step]:
        chance = self._chance
        for _ in range(chance.randint(1, 3)):
            table = chance.choice(("records", "records", "record_ranges", "consumer_lag"))
            yield Step.of("foreign", action=chance.choice(("compact", "compact", "vacuum", "checkpoint")), table=table)
            yield Step.of("wait", ms=chance.randrange(3_000))

    def _apply(self) -> Iterator[Step]:
        """Let runs of `apply` die, beside others and after changes by somebody else."""
        chance = self._chance
        if chance.random() < 0.5:
            yield from self.of_kind(chance.choice(("broker", "controller", "network")))
        for _ in range(chance.randint(1, 2)):
            if self._applied and chance.random() < 0.3:
                topic = chance.choice(sorted(self._applied))
                yield Step.of("drift", topic=topic, limit=chance.randrange(2_000, 3_000))
            yield Step.of("apply", topics=",".join(self._desired()))
            if chance.random() < 0.7:
                whom = chance.choice(("group", "group", "driver"))
                yield from self.killed("apply", whom, STEPS["apply"], 1_500)
            if chance.random() < 0.5:
                yield Step.of("rest")

    def _desired(self) -> Iterator[str]:
        chance = self._chance
        for name in chance.sample("abcdef", chance.randint(1, 5)):
            self._applied[name] = max(self._applied.get(name, 0), chance.randint(1, 4))
            yield f"{name}:{self._applied[name]}:{chance.choice((0, chance.randrange(4_000, 9_000)))}"

    def _rewrite(self) -> Iterator[Step]:
        """Let Spark delete rows, or restore a table, which ingests refuse until somebody has said how to go on."""
        chance = self._chance
        if chance.random() < 0.4:
            yield Step.of("rewrite", action="delete", table="records", number=chance.choice((1, 20, 100)))
            return
        if chance.random() < 0.7:
            yield Step.of("rest")
        table = chance.choice(("records", "records", "records", "record_ranges"))
        yield Step.of("rewrite", action="restore", table=table, number=chance.choice((1, 1, 2, 3)))
        yield Step.of("ingest")
        yield Step.of("rest")
        for _ in range(chance.randint(1, 2)):
            yield Step.of("repair", way=chance.choice(("repeat", "repeat", "keep", "undo")))
            if chance.random() < 0.6:
                yield from self.killed("ingest", chance.choice(("group", "driver", "jvm")), STEPS["ingest"], 3_000)
            yield Step.of("rest")

    def _retain(self) -> Iterator[Step]:
        """Let maintenance remove all that was archived until then."""
        yield Step.of("retain", days=RETAINS_AFTER)
        if self._chance.random() < 0.6:
            yield from self.killed("maintain", self._chance.choice(("group", "driver")), ("start",), 9_000)
            if self._chance.random() < 0.5:
                yield Step.of("rest")
                yield Step.of("retain", days=RETAINS_AFTER)
        yield Step.of("rest")

    def _clock(self) -> Iterator[Step]:
        """Let the clock of jobs step while they run, and back when the round ends."""
        for _ in range(self._chance.randint(1, 2)):
            yield Step.of("clock", seconds=self._chance.choice((-1, 1)) * self._chance.choice(_CLOCK_STEPS_S))
            yield Step.of("wait", ms=self._chance.randrange(4_000))
            yield from self._rival()

    def _cut_off(self) -> Iterator[Step]:
        """Cut a broker off for so long that the others notice, and the controller fences it."""
        side = self._chance.choice(("peers", "controllers"))
        yield Step.of("cut_off", id=self._chance.choice((0, 1, 2, 3)), side=side)
        yield Step.of("wait", ms=self._chance.randrange(12_000))
        if self._chance.random() < 0.5:
            yield from self._rival()

    def _sink(self) -> Iterator[Step]:
        """Kill jobs of Spark that write topics, or let brokers fail while they do."""
        chance = self._chance
        how = chance.choice(("batch", "batch", "stream"))
        transactions = chance.choice(("task", "run") if how == "stream" else ("none", "task", "run"))
        if chance.random() < 0.4:
            yield from self.of_kind(chance.choice(("broker", "network", "cut_off")))
        yield Step.of("sink", how=how, transactions=transactions, rows=chance.choice((500, 20_000)), master="repeating")
        if chance.random() < 0.7:
            whom = chance.choice(("group", "driver", "jvm", "worker"))
            yield from self.killed("sink", whom, ("write",), 4_000)
        yield Step.of("rest")

    def _storage(self, verb: str) -> Iterator[Step]:
        """Let a log dir fail, and with it half of a broker's replicas, or let a broker end because its disks are full."""
        yield Step.of(verb, id=self._chance.randint(1, 3))
        yield Step.of("wait", ms=self._chance.randrange(6_000))
        if self._chance.random() < 0.5:
            yield from self._rival()

    def _store(self) -> Iterator[Step]:
        """Let the object store refuse some of its requests, or lose its answers to those that it has carried out."""
        action = self._chance.choice(("refuse", "lose"))
        yield Step.of("store", action=action, each=self._chance.choice((2, 3, 7, 20)) if action == "refuse" else 1)
        yield Step.of("wait", ms=self._chance.randrange(4_000))

    def _rotate(self) -> Iterator[Step]:
        """Rotate the password of the jobs; those that run authenticate again while they do, others start."""
        yield Step.of("rotate", known=self._chance.choice((0, 1)))
        yield Step.of("wait", ms=self._chance.randrange(6_000))
        yield from self._rival()

    def _maintain(self) -> Iterator[Step]:
        keep_hours = self._chance.choice((0, 168, 168))
        if keep_hours == 0:
            yield Step.of("rest")
        yield Step.of("maintain", keep_hours=keep_hours)
        if self._chance.random() < 0.5:
            yield from self.killed("maintain", "group", ("start",), 9_000)
