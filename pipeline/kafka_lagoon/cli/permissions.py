"""Names permissions that several commands need, for their declarations, and spells those of a command for its help.

Every list is enough, and no entry can be left out: tests/integration/test_least_permissions.py proves both on real brokers, and
the tests of verbs of `lagoon admin` do so for theirs.
DESCRIBE comes with READ, WRITE, ALTER and DELETE, and DESCRIBE_CONFIGS with ALTER_CONFIGS.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol import acls


@frozen
class Requirement:
    """The permissions of one form of a command; `remark` is about releases, and about further permissions.

    `otherwise` is shown if `permissions` is empty.
    """

    permissions: Sequence[Permission] = ()
    remark: str = ""
    otherwise: str = "none"


TOPICS = Permission(acls.DESCRIBE, acls.TOPIC, "topics are left out of the list")
TOPICS_OF_MEMBERS = Permission(acls.DESCRIBE, acls.TOPIC, "groups of type consumer, share or streams are refused")
TOPICS_OF_COMMITS = Permission(
    acls.DESCRIBE, acls.TOPIC, "commits are left out; groups of type consumer, share or streams are refused"
)
TOPIC_SETTINGS = Permission(acls.DESCRIBE_CONFIGS, acls.TOPIC, "refused for each topic")
GROUPS = Permission(acls.DESCRIBE, acls.GROUP, "refused for each group")
NAMED_GROUPS = Permission(acls.DESCRIBE, acls.GROUP, "the group is not listed")
ALL_GROUPS = Permission(acls.DESCRIBE, acls.CLUSTER, "only groups that DESCRIBE on Group shows are listed")
DESCRIBED_CLUSTER = Permission(acls.DESCRIBE, acls.CLUSTER, "refused")
CLUSTER_SETTINGS = Permission(acls.DESCRIBE_CONFIGS, acls.CLUSTER, "refused")
TRANSACTIONS = Permission(acls.DESCRIBE, acls.TRANSACTIONAL_ID, "transactions are left out of the list")
TOPICS_OF_TRANSACTIONS = Permission(acls.DESCRIBE, acls.TOPIC, "partitions are left out of transactions")
READ_TOPIC = Permission(acls.READ, acls.TOPIC, "refused")
DESCRIBED_TOPIC = Permission(acls.DESCRIBE, acls.TOPIC, "refused for each topic")
ALTER_CLUSTER = Permission(acls.ALTER, acls.CLUSTER, "refused")
ALTER_CLUSTER_CONFIGS = Permission(acls.ALTER_CONFIGS, acls.CLUSTER, "refused")
MOVES = Requirement(permissions=(ALTER_CLUSTER, DESCRIBED_TOPIC))
OF_THE_FILE = "depends on the file"
ALTERS_CLUSTER = Requirement(permissions=(ALTER_CLUSTER,))
READ_GROUP = Permission(acls.READ, acls.GROUP, "refused")
DELETE_ON_GROUP = Permission(acls.DELETE, acls.GROUP, "refused")


def permissions_line(name: str, requires: Mapping[str, Requirement]) -> str:
    """The permissions of a command's forms in one sentence for its help."""
    return "; ".join(f"{name} {form}".rstrip() + f": {_named(one)}" for form, one in requires.items())


def _named(requirement: Requirement) -> str:
    return ", ".join(map(str, requirement.permissions)) or requirement.otherwise
