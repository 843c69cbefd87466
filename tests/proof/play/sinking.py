"""Jobs of Spark that write topics by the data source: a topic for each, which no ingest and no snapshot reads."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from confluent_kafka.admin import NewTopic

from tests.proof.evidence import Sunk
from tests.proof.jobs import SINK
from tests.proof.load import LiveTopic
from tests.proof.oracle import Kafka, topic_id
from tests.proof.play.topics import QUIET, QUIET_PARTITIONS, QUIET_RECORDS
from tests.proof.play.world import World, retried
from tests.proof.sink import rows_of

_SOON_S = 5  # a client that knows a broker from before it was stopped asks it, and waits; a new client asks another one
_PARTITIONS = 2
_STREAM = "stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    topic: LiveTopic
    how: str
    transactions: str
    rows: frozenset[str]
    words: tuple[str, ...]


class Sinking:
    """Writes of the sink, and what is there of them in the end."""

    verbs: ClassVar = ("sink",)

    def __init__(self, world: World) -> None:
        self._world = world
        self._written: list[_Written] = []

    def sink(self, how: str, transactions: str, rows: int, master: str = "local") -> None:
        """Start a job that writes a batch of so many rows, or a stream that copies the topic that never changes.

        A stream that was started goes on: its query has one name and one checkpoint.
        """
        written = next((known for known in self._written if how == known.how == _STREAM), None)
        if written is None:
            written = self._new(how, transactions, rows)
            self._written.append(written)
        self._world.jobs.start(SINK, {}, "lagoon", master, words=written.words)

    def _new(self, how: str, transactions: str, rows: int) -> _Written:
        world = self._world
        name = f"sunk-{world.prefix}{len(self._written)}"
        world.create(NewTopic(name, _PARTITIONS, 3))
        described = retried(lambda: Kafka(world.servers, _SOON_S).describe([name]))
        of_quiet = (f"{partition}-{offset}" for partition in range(QUIET_PARTITIONS) for offset in range(QUIET_RECORDS))
        checkpoint = str(world.place.folder / "checkpoint")
        words = [f"{world.prefix}{QUIET}", checkpoint] if how == _STREAM else [str(rows)]
        return _Written(
            topic=LiveTopic(
                name=name, kind="transactional", topic_id=topic_id(described[name]), partitions=_PARTITIONS
            ),
            how=how,
            transactions=transactions,
            rows=frozenset(of_quiet if how == _STREAM else rows_of(rows)),
            words=(how, name, transactions, *words),
        )

    def topics(self) -> list[LiveTopic]:
        """Return the topics of all jobs."""
        return [written.topic for written in self._written]

    def unfinished(self) -> Iterator[Mapping[str, tuple[str, ...]]]:
        """Return options of the streams, which go on until they are at the end."""
        for written in self._written:
            if written.how == _STREAM:
                yield {"words": written.words}

    def sunk(self) -> Iterator[Sunk]:
        """Read what is there; nothing writes any more."""
        codes = {run.options["words"]: run.exit_code for run in self._world.jobs.runs if run.job == SINK}
        for written in self._written:
            yield Sunk(
                name=f"{written.topic.name} ({written.how}, {written.transactions})",
                transactions="task" if written.how == _STREAM else written.transactions,
                rows=written.rows,
                seen=list(self._world.reader.values(written.topic)),
                exit_code=codes[written.words],
            )
