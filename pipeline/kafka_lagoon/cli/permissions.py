"""The permissions that each command needs on the cluster, for docs/permissions.md and for the help of `lagoon kafka`.

Every list is enough, and no entry can be left out: tests/integration/test_least_permissions.py proves both on real brokers, and
the tests of verbs of `lagoon admin` do so for theirs.
DESCRIBE comes with READ, WRITE, ALTER and DELETE, and DESCRIBE_CONFIGS with ALTER_CONFIGS.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.protocol.acls import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
)
from kafka_lagoon.snapshot.collectors import required_permissions


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """The permissions of one form of a command; `remark` is about releases, and about further permissions."""

    permissions: Sequence[Permission] = ()
    remark: str = ""


_TOPICS = Permission(DESCRIBE, TOPIC, "topics are left out of the list")
_TOPICS_OF_MEMBERS = Permission(DESCRIBE, TOPIC, "groups of type consumer, share or streams are refused")
_TOPICS_OF_COMMITS = Permission(
    DESCRIBE, TOPIC, "commits are left out; groups of type consumer, share or streams are refused"
)
_TOPIC_SETTINGS = Permission(DESCRIBE_CONFIGS, TOPIC, "refused for each topic")
_GROUPS = Permission(DESCRIBE, GROUP, "refused for each group")
_NAMED_GROUPS = Permission(DESCRIBE, GROUP, "the group is not listed")
_ALL_GROUPS = Permission(DESCRIBE, CLUSTER, "only groups that DESCRIBE on Group shows are listed")
_CLUSTER = Permission(DESCRIBE, CLUSTER, "refused")
_CLUSTER_SETTINGS = Permission(DESCRIBE_CONFIGS, CLUSTER, "refused")
_TRANSACTIONS = Permission(DESCRIBE, TRANSACTIONAL_ID, "transactions are left out of the list")
_TOPICS_OF_TRANSACTIONS = Permission(DESCRIBE, TOPIC, "partitions are left out of transactions")
_READ = Permission(READ, TOPIC, "refused")
_DESCRIBED_TOPIC = Permission(DESCRIBE, TOPIC, "refused for each topic")
_ALTER_CLUSTER = Permission(ALTER, CLUSTER, "refused")
_ALTER_CLUSTER_CONFIGS = Permission(ALTER_CONFIGS, CLUSTER, "refused")
_MOVES = Requirement(permissions=(_ALTER_CLUSTER, _DESCRIBED_TOPIC))
_OF_CLUSTER = Requirement(permissions=(_ALTER_CLUSTER,))
_READ_GROUP = Permission(READ, GROUP, "refused")
_DELETE_GROUP = Permission(DELETE, GROUP, "refused")

# By command as it is typed; words in capitals stand for names.
REQUIRED_PERMISSIONS: Mapping[str, Requirement] = {
    "snapshot": Requirement(
        permissions=required_permissions(),
        remark="What only a table needs that `snapshot.skip_tables` names is not needed.",
    ),
    "ingest": Requirement(
        permissions=(_READ,),
        remark="Topics without it do not match a pattern, and a line says that there may be such. With DESCRIBE on "
        "Cluster too, large partitions are read in parts.",
    ),
    "apply": Requirement(
        remark="Those of `plan`, and those of the verbs of `lagoon admin` that make the same changes."
    ),
    "plan": Requirement(
        remark="Those of `import` for what the file is about; groups, offsets and transactions as for the verbs of "
        "`lagoon kafka`."
    ),
    "import": Requirement(
        permissions=(
            _TOPICS,
            _TOPIC_SETTINGS,
            Permission(DESCRIBE, CLUSTER, "ACLs, users and moves are refused"),
            Permission(
                DESCRIBE_CONFIGS, CLUSTER, "settings of brokers, groups and client metrics and quotas are refused"
            ),
            Permission(DESCRIBE_CONFIGS, GROUP, "refused for each group that has settings"),
        ),
        remark="What is refused is left out of the file, and said in it; exit 3.",
    ),
    "restore": Requirement(
        permissions=(
            Permission(WRITE, TOPIC, "refused"),
            Permission(READ, TOPIC, "what was written cannot be read back"),
            Permission(DESCRIBE_CONFIGS, TOPIC, "refused"),
        ),
        remark="Topics that it creates also want CREATE on Topic or Cluster, and DESCRIBE_CONFIGS on Cluster tells their "
        "defaults before. With --with-acls DESCRIBE and ALTER on Cluster, with --with-offsets READ on Group, with "
        "--transactional WRITE on TransactionalId and READ on Group, both for names that begin with lagoon-restore-.",
    ),
    "compare": Requirement(permissions=(_READ,), remark="On both topics."),
    "kafka versions": Requirement(),
    "kafka metadata": Requirement(
        permissions=(_TOPICS, Permission(DESCRIBE, CLUSTER, "the controller is not known")),
        remark="On ZooKeeper (2.8) the controller is known without it.",
    ),
    "kafka health": Requirement(permissions=(_TOPICS, _TOPIC_SETTINGS)),
    "kafka offsets": Requirement(permissions=(_TOPICS,)),
    "kafka groups": Requirement(
        permissions=(_ALL_GROUPS,),
        remark="With DESCRIBE on Group in its place, a line says that those may not be all.",
    ),
    "kafka describe-group": Requirement(permissions=(_ALL_GROUPS, _GROUPS, _TOPICS_OF_MEMBERS)),
    "kafka describe-group GROUP": Requirement(permissions=(_NAMED_GROUPS, _TOPICS_OF_MEMBERS)),
    "kafka lag": Requirement(
        permissions=(_ALL_GROUPS, _GROUPS, _TOPICS_OF_COMMITS),
        remark="With --time also READ on Topic, or ages are not known.",
    ),
    "kafka lag GROUP": Requirement(permissions=(_NAMED_GROUPS, _TOPICS_OF_COMMITS)),
    "kafka configs topic": Requirement(permissions=(_TOPICS, _TOPIC_SETTINGS)),
    "kafka configs topic TOPIC": Requirement(permissions=(_TOPIC_SETTINGS,)),
    "kafka configs broker": Requirement(permissions=(_CLUSTER_SETTINGS,)),
    "kafka configs broker-logger": Requirement(permissions=(_CLUSTER_SETTINGS,)),
    "kafka configs client-metrics": Requirement(permissions=(_CLUSTER_SETTINGS,)),
    "kafka configs group": Requirement(
        permissions=(
            Permission(DESCRIBE_CONFIGS, CLUSTER, "the list of groups that have settings is refused"),
            Permission(DESCRIBE_CONFIGS, GROUP, "refused for each group"),
        )
    ),
    "kafka configs group GROUP": Requirement(
        permissions=(Permission(DESCRIBE_CONFIGS, GROUP, "refused for each group"),)
    ),
    "kafka acls": Requirement(permissions=(_CLUSTER,)),
    "kafka log-dirs": Requirement(permissions=(_CLUSTER,)),
    "kafka quorum": Requirement(permissions=(_CLUSTER,)),
    "kafka reassignments": Requirement(permissions=(_CLUSTER,)),
    "kafka transactions": Requirement(permissions=(_TRANSACTIONS,)),
    "kafka transactions --describe": Requirement(permissions=(_TRANSACTIONS, _TOPICS_OF_TRANSACTIONS)),
    "kafka transactions ID": Requirement(
        permissions=(Permission(DESCRIBE, TRANSACTIONAL_ID, "the transaction is not listed"), _TOPICS_OF_TRANSACTIONS)
    ),
    "kafka transactions --topic TOPIC": Requirement(permissions=(_READ,)),
    "kafka fetch": Requirement(permissions=(_READ,)),
    "kafka produce": Requirement(
        permissions=(Permission(WRITE, TOPIC, "refused"),),
        remark="Brokers from 2.8 on do not want IDEMPOTENT_WRITE on Cluster for it.",
    ),
    "admin create-topic": Requirement(
        permissions=(Permission(CREATE, TOPIC, "refused for each topic"), _DESCRIBED_TOPIC),
        remark="CREATE on Cluster does for all topics.",
    ),
    "admin create-partitions": Requirement(permissions=(Permission(ALTER, TOPIC, "refused for each topic"),)),
    "admin delete-topic": Requirement(permissions=(Permission(DELETE, TOPIC, "refused for each topic"),)),
    "admin delete-records": Requirement(permissions=(Permission(DELETE, TOPIC, "refused for each topic"),)),
    "admin alter-configs topic": Requirement(permissions=(Permission(ALTER_CONFIGS, TOPIC, "refused for each topic"),)),
    "admin alter-configs group": Requirement(permissions=(Permission(ALTER_CONFIGS, GROUP, "refused for each group"),)),
    "admin alter-configs broker": Requirement(permissions=(_ALTER_CLUSTER_CONFIGS,)),
    "admin alter-configs broker-logger": Requirement(permissions=(_ALTER_CLUSTER_CONFIGS,)),
    "admin alter-configs client-metrics": Requirement(permissions=(_ALTER_CLUSTER_CONFIGS,)),
    "admin elect-leaders": _MOVES,
    "admin reassign": _MOVES,
    "admin cancel-reassignment": _MOVES,
    "admin move-replica": _MOVES,
    "admin add-voter": _OF_CLUSTER,
    "admin remove-voter": _OF_CLUSTER,
    "admin unregister-broker": _OF_CLUSTER,
    "admin update-feature": _OF_CLUSTER,
    "admin create-acl": _OF_CLUSTER,
    "admin delete-acl": _OF_CLUSTER,
    "admin alter-quotas": Requirement(permissions=(Permission(ALTER_CONFIGS, CLUSTER, "refused"),)),
    "admin alter-scram": _OF_CLUSTER,
    "admin delete-scram": _OF_CLUSTER,
    "admin create-token": Requirement(remark="With --owner CREATE_TOKENS on User, for that user."),
    "admin renew-token": Requirement(remark="Only the owner of a token and its renewers may do it."),
    "admin expire-token": Requirement(remark="Only the owner of a token and its renewers may do it."),
    "admin reset-offsets": Requirement(permissions=(_READ_GROUP, _READ)),
    "admin delete-offsets": Requirement(permissions=(_DELETE_GROUP, _READ)),
    "admin delete-group": Requirement(permissions=(_DELETE_GROUP,)),
    "admin abort-transaction": Requirement(
        permissions=(
            _READ,
            Permission(DESCRIBE, TRANSACTIONAL_ID, "transactions that their coordinator has are taken for hanging"),
            Permission(ALTER, CLUSTER, "refused"),
        )
    ),
    "admin fence-producer": Requirement(
        permissions=(Permission(WRITE, TRANSACTIONAL_ID, "the transaction is not listed, or refused"),)
    ),
}


def permissions_line(command: str) -> str:
    """The permissions of a command in one sentence for its help; empty for an unknown command."""
    return "; ".join(_described(name, requirement) for name, requirement in _forms(command))


def _forms(command: str) -> Iterator[tuple[str, Requirement]]:
    for name, requirement in REQUIRED_PERMISSIONS.items():
        if name == command or name.startswith(f"{command} "):
            yield name, requirement


def _described(name: str, requirement: Requirement) -> str:
    return f"{name}: {', '.join(map(str, requirement.permissions)) or 'none'}"
