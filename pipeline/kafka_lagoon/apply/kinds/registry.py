"""Lists every kind of action in the order in which a plan carries them out.

What others depend on comes first (topics before the ACLs and offsets that name them), deletions come last.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.apply.action import ActionKind
from kafka_lagoon.apply.kinds import acls, groups

_IN_ORDER: Sequence[ActionKind] = (
    acls.CREATE_ACL,
    groups.ALTER_OFFSETS,
    groups.ALTER_SHARE_OFFSETS,
    groups.DELETE_OFFSETS,
    groups.DELETE_SHARE_OFFSETS,
    groups.DELETE_GROUP,
    acls.DELETE_ACL,
)

KINDS: Mapping[str, ActionKind] = {kind.name: kind for kind in _IN_ORDER}
