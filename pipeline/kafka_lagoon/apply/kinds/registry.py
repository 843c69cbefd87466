"""Lists every kind of action in the order in which a plan carries them out.

What others depend on comes first (topics before the ACLs and offsets that name them), deletions come last.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.apply.action import ActionKind

_IN_ORDER: Sequence[ActionKind] = ()

KINDS: Mapping[str, ActionKind] = {kind.name: kind for kind in _IN_ORDER}
