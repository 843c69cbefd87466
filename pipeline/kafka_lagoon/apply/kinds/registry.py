"""Lists every kind of action in the order in which a plan carries them out.

Kinds that others depend on come first (topics before the ACLs and offsets that name them), deletions come last.
Actions with guards come after all others (`sending_order`).
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.apply.action import ActionKind
from kafka_lagoon.apply.kinds import (
    acls,
    cluster,
    configs,
    groups,
    moves,
    partitions,
    quotas,
    tokens,
    topics,
    transactions,
    users,
)

_IN_ORDER: Sequence[ActionKind] = (
    cluster.UPDATE_FEATURE,
    cluster.ADD_VOTER,
    topics.CREATE_TOPIC,
    topics.EXTEND_TOPIC,
    configs.ALTER_CONFIGS,
    acls.CREATE_ACL,
    quotas.ALTER_QUOTAS,
    users.ALTER_SCRAM,
    tokens.CREATE_TOKEN,
    tokens.RENEW_TOKEN,
    moves.CANCEL_REASSIGNMENT,
    moves.REASSIGN_PARTITION,
    moves.MOVE_REPLICA,
    partitions.ELECT_LEADERS,
    transactions.ABORT_TRANSACTION,
    transactions.FENCE_PRODUCER,
    groups.ALTER_OFFSETS,
    groups.ALTER_SHARE_OFFSETS,
    groups.DELETE_OFFSETS,
    groups.DELETE_SHARE_OFFSETS,
    groups.DELETE_GROUP,
    partitions.DELETE_RECORDS,
    tokens.EXPIRE_TOKEN,
    users.DELETE_SCRAM,
    acls.DELETE_ACL,
    topics.DELETE_TOPIC,
    cluster.REMOVE_VOTER,
    cluster.UNREGISTER_BROKER,
)

KINDS: Mapping[str, ActionKind] = {kind.name: kind for kind in _IN_ORDER}
