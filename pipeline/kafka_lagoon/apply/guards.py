"""Refuses actions that destroy something unless the option that names the danger was given."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kafka_lagoon.apply.action import Action, ActionKind, Guard
from kafka_lagoon.apply.kinds.registry import KINDS
from kafka_lagoon.errors import ConfigError


def require_guards(
    actions: Sequence[Action], allowed: Collection[Guard], kinds: Mapping[str, ActionKind] = KINDS
) -> None:
    """ConfigError lists every action that needs an option which was not given."""
    if problems := list(missing_guards(actions, allowed, kinds)):
        raise ConfigError(problems)


def missing_guards(
    actions: Sequence[Action], allowed: Collection[Guard], kinds: Mapping[str, ActionKind] = KINDS
) -> Iterator[str]:
    """One line for each action that may not be carried out, with the options that would allow it."""
    for action in actions:
        if missing := sorted(action.guards.difference(allowed)):
            options = ", ".join(f"--{guard}" for guard in missing)
            yield f"{kinds[action.kind].about(action.resource)} needs {options}"
