"""Draws histories: topics, then rounds of loads, jobs and faults, each round with an end of all faults."""

import random
from collections.abc import Iterator

from tests.proof.draw_faults import FAULTS, STEPS, DrawnFaults
from tests.proof.history import History, Step

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_KINDS = ("plain", "plain", "transactional", "transactional", "compacted", "short", "unclean")
_NEEDS = {"expire": "short", "unclean": "unclean"}
_IN_BUCKET = 0.2  # of the histories
_OF_BUCKETS = ("store",)
_BEFORE = (  # kinds that may be there before a job starts
    "broker",
    "controller",
    "network",
    "leaders",
    "coordinators",
    "delete",
    "expire",
    "recreate",
    "grow",
    "revoke",
    "quota",
    "clock",
    "rotate",
    "cut_off",
    "log_dir",
    "disk",
    "store",
)


def draw(seed: int, number: int, only: str | None = None, *, with_deaths: bool = False) -> History:
    """Return the history of a number in a seed.

    With `only`, all of its faults are of that kind. With `with_deaths`, a worker, a broker and several drivers die in each round, too.
    """
    name = f"{'d' if with_deaths else 'h'}{seed}-{number}"
    in_bucket = only in _OF_BUCKETS or random.Random(f"bucket-{name[1:]}").random() < _IN_BUCKET
    drawn = Drawn(random.Random(name[1:]), only, in_bucket=in_bucket, with_deaths=with_deaths)
    return History(name, tuple(drawn.steps()))


class Drawn:
    """The steps of a history, and the topics until now."""

    def __init__(self, chance: random.Random, only: str | None, *, in_bucket: bool, with_deaths: bool) -> None:
        self._chance, self._only, self._in_bucket, self._with_deaths = chance, only, in_bucket, with_deaths
        self._kinds: dict[str, str] = {}
        self._faults = DrawnFaults(chance, self._kinds)

    def steps(self) -> Iterator[Step]:
        """Draw all steps."""
        chance = self._chance
        if self._in_bucket:
            yield Step.of("bucket")
        for number in range(chance.randint(2, 3)):
            yield self._topic(f"t{number}", chance.choice(_KINDS))
        if self._only in _NEEDS:
            yield self._topic("needed", _NEEDS[self._only])
        for _ in range(chance.randint(2, 3)):
            yield from self._round()

    def _topic(self, name: str, kind: str) -> Step:
        self._kinds[name] = kind
        return Step.of("topic", name=name, kind=kind, partitions=self._chance.randint(1, 4))

    def _round(self) -> Iterator[Step]:
        """Draw loads, then a job, and faults while it runs; loads go on beside them."""
        chance = self._chance
        for topic in chance.sample(sorted(self._kinds), chance.randint(1, len(self._kinds))):
            yield self._load(topic)
        if self._with_deaths:
            yield from self._deaths()
        faults = [self._kind() for _ in range(chance.randint(1, 3))]
        before = [kind for kind in faults if kind in _BEFORE and chance.random() < 0.5]
        for kind in before:
            yield from self._faults.of_kind(kind)
        yield self._job(faults)
        for kind in faults:
            if kind not in before:
                yield Step.of("wait", ms=chance.randrange(3_000))
                yield from self._faults.of_kind(kind)
        if chance.random() < 0.7:
            yield Step.of("jobs_end", seconds=chance.choice((5, 30, 90)))
        yield Step.of("rest")

    def _deaths(self) -> Iterator[Step]:
        """Kill a worker and a broker under one ingest, then drivers that read and write what was produced since."""
        chance = self._chance
        yield Step.of("ingest", master="repeating", fetch_kb=4, task_mb=1, by_executors=1)
        yield from self._faults.killed("ingest", "worker", ("read",), 500)
        yield from self._faults.killed_broker()
        yield Step.of("rest")
        for _ in range(chance.randint(2, 4)):
            yield Step.of(
                "load", topic=chance.choice(sorted(self._kinds)), records=300, size=100, seconds=0, codec="none"
            )
            job = chance.choice(("ingest", "ingest", "snapshot"))
            yield Step.of("ingest", by_executors=0) if job == "ingest" else self._faults.snapshot()
            yield from self._faults.killed(job, "group", STEPS[job], 100)
        yield Step.of("rest")

    def _load(self, topic: str) -> Step:
        chance = self._chance
        options = {
            "topic": topic,
            "records": chance.choice((300, 4_000, 10_000, 20_000)),
            "size": chance.choice((20, 100, 100, 1_000)),
            "seconds": chance.choice((0, 3, 10)),
            "codec": chance.choice(_CODECS),
        }
        if self._kinds[topic] == "transactional":
            # A transaction takes some milliseconds: about a hundred of them.
            return Step.of(
                "transactions", **options, each=max(options["records"] // 100, chance.choice((1, 20, 1_000)))
            )
        return Step.of("load", **options)

    def _kind(self) -> str:
        if self._only:
            return self._only
        kinds = {kind: often for kind, often in FAULTS.items() if self._in_bucket or kind not in _OF_BUCKETS}
        return self._chance.choices(list(kinds), list(kinds.values()))[0]

    def _job(self, faults: list[str]) -> Step:
        """Draw the job of a round: most faults are about ingests; only one that loses workers needs Spark to repeat tasks."""
        chance = self._chance
        if chance.random() < 0.25 and not {"worker", "executor"} & set(faults):
            return self._faults.snapshot()
        master = "cluster" if "executor" in faults else "repeating" if "worker" in faults else "local"
        by = "submit" if "executor" in faults or chance.random() < 0.1 else "lagoon"
        return Step.of(
            "ingest",
            by=by,
            master=master,
            fetch_kb=chance.choice((4, 16, 64, 8192)),
            task_mb=chance.choice((1, 1, 256)),
            by_executors=int(by == "submit" or master != "local" or chance.random() < 0.5),
        )
