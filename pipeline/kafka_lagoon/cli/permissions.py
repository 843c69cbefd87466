"""A command in, the least rights that it needs on the cluster out.

Guards one rule: every list is enough and least, which tests/integration/test_least_rights.py proves on real brokers.
DESCRIBE comes with READ, WRITE, ALTER and DELETE, and DESCRIBE_CONFIGS with ALTER_CONFIGS.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_lagoon.protocol.acls import (
    CLUSTER,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    OPERATIONS,
    READ,
    RESOURCE_TYPES,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
)
from kafka_lagoon.snapshot.tables import required_permissions


@dataclass(frozen=True, slots=True)
class Right:
    """An operation on all resources of a type that are to be seen, both by number, and what happens without it."""

    operation: int
    resource_type: int
    without: str

    def __str__(self) -> str:
        """As people write it: DESCRIBE on Topic."""
        words = RESOURCE_TYPES[self.resource_type].split("_")
        return f"{OPERATIONS[self.operation]} on {''.join(word.title() for word in words)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one way to run a command needs; `remark` is about releases, and about what may be given beyond."""

    rights: Sequence[Right] = ()
    remark: str = ""


_TOPICS = Right(DESCRIBE, TOPIC, "topics are left out of the list")
_TOPICS_OF_MEMBERS = Right(DESCRIBE, TOPIC, "groups of type consumer, share or streams are refused")
_TOPICS_OF_COMMITS = Right(
    DESCRIBE, TOPIC, "commits are left out; groups of type consumer, share or streams are refused"
)
_TOPIC_SETTINGS = Right(DESCRIBE_CONFIGS, TOPIC, "refused for each topic")
_GROUPS = Right(DESCRIBE, GROUP, "refused for each group")
_NAMED_GROUPS = Right(DESCRIBE, GROUP, "the group is not listed")
_ALL_GROUPS = Right(DESCRIBE, CLUSTER, "only groups that DESCRIBE on Group shows are listed")
_CLUSTER = Right(DESCRIBE, CLUSTER, "refused")
_CLUSTER_SETTINGS = Right(DESCRIBE_CONFIGS, CLUSTER, "refused")
_TRANSACTIONS = Right(DESCRIBE, TRANSACTIONAL_ID, "transactions are left out of the list")
_TOPICS_OF_TRANSACTIONS = Right(DESCRIBE, TOPIC, "partitions are left out of transactions")
_READ = Right(READ, TOPIC, "refused")

# By command as it is typed; what is in capitals stands for names.
NEEDS: Mapping[str, Need] = {
    "snapshot": Need(
        rights=[Right(one.operation, one.resource_type, one.without) for one in required_permissions()],
        remark="Made from the declarations of the tables; what is named in snapshot.skip_tables is not needed.",
    ),
    "ingest": Need(
        rights=(_READ,),
        remark="Topics without it do not match a pattern, and a line says that there may be such. With DESCRIBE on "
        "Cluster too, large partitions are read in parts.",
    ),
    "kafka versions": Need(),
    "kafka metadata": Need(
        rights=(_TOPICS, Right(DESCRIBE, CLUSTER, "the controller is not known")),
        remark="On ZooKeeper (2.8) the controller is known without it.",
    ),
    "kafka health": Need(rights=(_TOPICS, _TOPIC_SETTINGS)),
    "kafka offsets": Need(rights=(_TOPICS,)),
    "kafka groups": Need(
        rights=(_ALL_GROUPS,),
        remark="With DESCRIBE on Group in its place, a line says that those may not be all.",
    ),
    "kafka describe-group": Need(rights=(_ALL_GROUPS, _GROUPS, _TOPICS_OF_MEMBERS)),
    "kafka describe-group GROUP": Need(rights=(_NAMED_GROUPS, _TOPICS_OF_MEMBERS)),
    "kafka lag": Need(rights=(_ALL_GROUPS, _GROUPS, _TOPICS_OF_COMMITS)),
    "kafka lag GROUP": Need(rights=(_NAMED_GROUPS, _TOPICS_OF_COMMITS)),
    "kafka configs topic": Need(rights=(_TOPICS, _TOPIC_SETTINGS)),
    "kafka configs topic TOPIC": Need(rights=(_TOPIC_SETTINGS,)),
    "kafka configs broker": Need(rights=(_CLUSTER_SETTINGS,)),
    "kafka configs broker-logger": Need(rights=(_CLUSTER_SETTINGS,)),
    "kafka configs client-metrics": Need(rights=(_CLUSTER_SETTINGS,)),
    "kafka configs group": Need(
        rights=(
            Right(DESCRIBE_CONFIGS, CLUSTER, "the list of groups that have settings is refused"),
            Right(DESCRIBE_CONFIGS, GROUP, "refused for each group"),
        )
    ),
    "kafka configs group GROUP": Need(rights=(Right(DESCRIBE_CONFIGS, GROUP, "refused for each group"),)),
    "kafka acls": Need(rights=(_CLUSTER,)),
    "kafka log-dirs": Need(rights=(_CLUSTER,)),
    "kafka quorum": Need(rights=(_CLUSTER,)),
    "kafka transactions": Need(rights=(_TRANSACTIONS,)),
    "kafka transactions --describe": Need(rights=(_TRANSACTIONS, _TOPICS_OF_TRANSACTIONS)),
    "kafka transactions ID": Need(
        rights=(Right(DESCRIBE, TRANSACTIONAL_ID, "the transaction is not listed"), _TOPICS_OF_TRANSACTIONS)
    ),
    "kafka transactions --topic TOPIC": Need(rights=(_READ,)),
    "kafka fetch": Need(rights=(_READ,)),
    "kafka produce": Need(
        rights=(Right(WRITE, TOPIC, "refused"),),
        remark="Brokers from 2.8 on do not want IDEMPOTENT_WRITE on Cluster for it.",
    ),
}


def needs_line(command: str) -> str:
    """What a command needs, in one sentence for its help; empty where nothing is known of it."""
    return "; ".join(_told(name, need) for name, need in _ways(command))


def _ways(command: str) -> Iterator[tuple[str, Need]]:
    """The ways to run a command: with its name alone, and with what goes on behind it."""
    for name, need in NEEDS.items():
        if name == command or name.startswith(f"{command} "):
            yield name, need


def _told(name: str, need: Need) -> str:
    return f"{name}: {', '.join(map(str, need.rights)) or 'no right'}"
