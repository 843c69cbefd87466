"""Lists every kind of action in the order in which a plan carries them out.

What others depend on comes first (topics before the ACLs and offsets that name them), deletions come last.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.apply.action import ActionKind
from kafka_lagoon.apply.kinds.configs import ALTER_CONFIGS
from kafka_lagoon.apply.kinds.topics import CREATE_TOPIC, DELETE_TOPIC, EXTEND_TOPIC

_IN_ORDER: Sequence[ActionKind] = (
    CREATE_TOPIC,
    EXTEND_TOPIC,
    ALTER_CONFIGS,
    DELETE_TOPIC,
)

KINDS: Mapping[str, ActionKind] = {kind.name: kind for kind in _IN_ORDER}
