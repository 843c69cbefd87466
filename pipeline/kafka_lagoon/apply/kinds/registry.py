"""Lists every kind of action in the order in which a plan carries them out.

What others depend on comes first (topics before the ACLs and offsets that name them), deletions come last.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.apply.action import ActionKind
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
    CANCEL_REASSIGNMENT,
    REASSIGN_PARTITION,
    MOVE_REPLICA,
    ELECT_LEADERS,
    DELETE_RECORDS,
    REMOVE_VOTER,
    UNREGISTER_BROKER,
    DELETE_TOPIC,
)

KINDS: Mapping[str, ActionKind] = {kind.name: kind for kind in _IN_ORDER}
