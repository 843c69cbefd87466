"""A week of a small shop's cluster, hour by hour: produced records, commits of each group, and incidents.

Everything follows from the tables at the top, so that answers are the same in every run. It is a Saturday, 21 November 2026, 08:00.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

HOUR = timedelta(hours=1)
BEFORE = datetime(2026, 11, 12, tzinfo=UTC)  # the load begins here
FIRST, LAST = datetime(2026, 11, 15, tzinfo=UTC), datetime(2026, 11, 21, 8, tzinfo=UTC)
_SATURDAY = 5


def november(day: int, hour: int, minute: int = 0) -> datetime:
    """Make a time of November 2026."""
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic; `rate` is the number of records per hour in a night of the week, distributed by `shares`."""

    name: str
    rate: int
    bytes_each: int
    shares: tuple[float, ...]
    replicas: int = 3
    retention_hours: int = 168

    @property
    def topic_id(self) -> str:
        """Make an id of 22 characters, as Kafka's."""
        return f"{self.name}-id".ljust(22, "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group reads at most `capacity` records per hour and partition; `down` without members, `stuck` with idle members.

    One that does not commit keeps its offsets elsewhere.
    """

    name: str
    topics: tuple[str, ...]
    capacity: int
    type: str = "classic"
    members: int = 1
    down: tuple[tuple[datetime, datetime], ...] = ()
    stuck: tuple[tuple[datetime, datetime], ...] = ()
    commits: bool = True

    def is_down(self, moment: datetime) -> bool:
        """Return True if the group has no members at that time."""
        return any(start <= moment < end for start, end in self.down)

    def reads(self, moment: datetime) -> bool:
        """Return True if the group reads at that time."""
        return not self.is_down(moment) and not any(start <= moment < end for start, end in self.stuck)


TOPICS = (
    Topic(name="orders", rate=3_600, bytes_each=400, shares=(1 / 6,) * 6),
    Topic(name="payments", rate=1_200, bytes_each=250, shares=(1 / 3,) * 3),
    Topic(name="clicks", rate=20_000, bytes_each=120, shares=(0.7, 0.1, 0.1, 0.1), retention_hours=24),
    Topic(name="shipments", rate=600, bytes_each=300, shares=(0.5, 0.5)),
    Topic(name="emails", rate=0, bytes_each=2_000, shares=(0.5, 0.5), retention_hours=8_760),
    Topic(name="audit", rate=300, bytes_each=200, shares=(1.0,), replicas=1),
)
_FAR = november(30, 0)
GROUPS = (
    Group(
        name="billing",
        topics=("orders", "payments"),
        capacity=4_500,
        members=2,
        down=((november(17, 12, 10), november(17, 14, 10)),),
    ),
    Group(name="fraud-check", topics=("orders",), capacity=20_000, type="consumer", members=2),
    Group(
        name="analytics",
        topics=("orders",),
        capacity=90_000,
        down=((BEFORE, november(18, 1, 30)), (november(18, 3, 30), _FAR)),
    ),
    Group(name="bookkeeping", topics=("payments",), capacity=6_000, stuck=((november(19, 9, 50), _FAR),)),
    Group(
        name="clicks-archive", topics=("clicks",), capacity=30_000, down=((november(19, 16, 10), november(20, 2, 10)),)
    ),
    Group(name="shipping", topics=("shipments",), capacity=4_000),
    Group(name="newsletter", topics=("emails",), capacity=1_000, down=((BEFORE, _FAR),)),
    Group(name="audit-export", topics=("audit",), capacity=4_000),
)
RETENTION_CUT = november(19, 14, 30)  # retention of clicks is reduced to six hours
BROKER_DOWN = (november(20, 8, 40), november(20, 10, 20))  # broker 3 is down
LEADERS_BACK = november(20, 11, 30)
SCALED_OUT = november(20, 11, 40)  # fraud-check has a third member
RESTARTED = november(20, 16, 20)  # one of its members restarts
NOT_TAKEN = (november(18, 5), november(18, 6))  # the scheduler is down


def slots() -> Iterator[datetime]:
    """Return the times of the snapshots."""
    moment = FIRST
    while moment <= LAST:
        if moment not in NOT_TAKEN:
            yield moment
        moment += HOUR


def retention_hours(topic: Topic, moment: datetime) -> int:
    """Return the retention of the topic's records in hours."""
    return 6 if topic.name == "clicks" and moment >= RETENTION_CUT else topic.retention_hours


def _records_in(hour: datetime, rate: float) -> int:
    by_day = 3 if 8 <= hour.hour < 20 else 1
    weekend = 0.5 if hour.weekday() >= _SATURDAY else 1
    return round(rate * by_day * weekend)


@dataclass(slots=True)
class Log:
    """A partition, with its end offset at every hour since BEFORE."""

    topic: Topic
    partition: int
    ends: list[int]

    def end(self, moment: datetime) -> int:
        """Return the end offset, interpolated between two hours."""
        if moment < BEFORE:
            return 0
        hours = (moment - BEFORE) / HOUR
        whole = int(hours)
        following = self.ends[min(whole + 1, len(self.ends) - 1)]
        return self.ends[whole] + int((following - self.ends[whole]) * (hours - whole))

    def start(self, moment: datetime) -> int:
        """Return the log start offset: records older than the shortest retention until then are deleted."""
        longest = self.end(moment - retention_hours(self.topic, moment) * HOUR)
        return max(longest, self.end(moment - self.topic.retention_hours * HOUR))

    def written_at(self, offset: int) -> datetime:
        """Return the time at which a record was produced."""
        whole = max(bisect_right(self.ends, offset) - 1, 0)
        following = self.ends[min(whole + 1, len(self.ends) - 1)]
        part = (offset - self.ends[whole]) / max(following - self.ends[whole], 1)
        return BEFORE + (whole + min(part, 1.0)) * HOUR


def _logs() -> dict[tuple[str, int], Log]:
    logs = {}
    for topic in TOPICS:
        for partition, share in enumerate(topic.shares):
            ends, hour = [450 if topic.name == "emails" else 0], BEFORE
            while hour <= LAST + HOUR:
                ends.append(ends[-1] + _records_in(hour, topic.rate * share))
                hour += HOUR
            logs[topic.name, partition] = Log(topic, partition, ends)
    return logs


LOGS: Mapping[tuple[str, int], Log] = _logs()


def commits() -> dict[tuple[str, str, int], list[tuple[datetime, int]]]:
    """Return the commits of each group for each partition at every slot."""
    return {
        (group.name, topic, partition): list(_progress(group, log))
        for group in GROUPS
        for (topic, partition), log in LOGS.items()
        if topic in group.topics
    }


def _progress(group: Group, log: Log) -> Iterator[tuple[datetime, int]]:
    """Compute the commit at each slot: it advances in steps of ten minutes, at most to records of some seconds ago."""
    moment, step = BEFORE, timedelta(minutes=10)
    position = 450 if group.name == "newsletter" else 0
    wanted = set(slots())
    while moment <= LAST:
        if group.reads(moment - step):
            reachable = max(position, log.start(moment)) + group.capacity // 6
            position = max(position, min(reachable, log.end(moment - timedelta(seconds=moment.hour * 7 % 5 * 8))))
        if moment in wanted:
            yield moment, position
        moment += step
