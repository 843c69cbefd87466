"""Lists every kind of action in the order in which a plan carries them out.

What others depend on comes first (topics before the ACLs and offsets that name them), deletions come last.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.apply.action import ActionKind
from kafka_lagoon.apply.kinds import acls, groups, quotas, tokens, transactions, users
from kafka_lagoon.apply.kinds.cluster import ADD_VOTER, REMOVE_VOTER, UNREGISTER_BROKER, UPDATE_FEATURE
from kafka_lagoon.apply.kinds.configs import ALTER_CONFIGS
from kafka_lagoon.apply.kinds.moves import CANCEL_REASSIGNMENT, MOVE_REPLICA, REASSIGN_PARTITION
from kafka_lagoon.apply.kinds.partitions import DELETE_RECORDS, ELECT_LEADERS
from kafka_lagoon.apply.kinds.topics import CREATE_TOPIC, DELETE_TOPIC, EXTEND_TOPIC

_IN_ORDER: Sequence[ActionKind] = (
    UPDATE_FEATURE,
    ADD_VOTER,
    CREATE_TOPIC,
    EXTEND_TOPIC,
    ALTER_CONFIGS,
    acls.CREATE_ACL,
    quotas.ALTER_QUOTAS,
    users.ALTER_SCRAM,
    tokens.CREATE_TOKEN,
    tokens.RENEW_TOKEN,
    CANCEL_REASSIGNMENT,
    REASSIGN_PARTITION,
    MOVE_REPLICA,
    ELECT_LEADERS,
    transactions.ABORT_TRANSACTION,
    transactions.FENCE_PRODUCER,
    groups.ALTER_OFFSETS,
    groups.ALTER_SHARE_OFFSETS,
    DELETE_RECORDS,
    groups.DELETE_OFFSETS,
    groups.DELETE_SHARE_OFFSETS,
    groups.DELETE_GROUP,
    tokens.EXPIRE_TOKEN,
    users.DELETE_SCRAM,
    acls.DELETE_ACL,
    REMOVE_VOTER,
    UNREGISTER_BROKER,
    DELETE_TOPIC,
)

KINDS: Mapping[str, ActionKind] = {kind.name: kind for kind in _IN_ORDER}
