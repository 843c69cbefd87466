"""Refuses destructive actions unless the option for the danger was given, and actions without their secrets."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kafka_lagoon.apply.action import Action, ActionKind, Guard
from kafka_lagoon.apply.kinds.registry import KINDS
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.secret import Secret


def require_guards(
    actions: Sequence[Action], allowed: Collection[Guard], kinds: Mapping[str, ActionKind] = KINDS
) -> None:
    """Raise ConfigError with every action that needs an option which was not given."""
    if problems := list(missing_guards(actions, allowed, kinds)):
        raise ConfigError(problems)


def missing_guards(
    actions: Sequence[Action], allowed: Collection[Guard], kinds: Mapping[str, ActionKind] = KINDS
) -> Iterator[str]:
    """One line for each action that is not allowed, with the options that would allow it."""
    for action in actions:
        if missing := sorted(action.guards.difference(allowed)):
            options = ", ".join(f"--{guard}" for guard in missing)
            yield f"{kinds[action.kind].about(action.resource)} needs {options}"


def unresolved(actions: Sequence[Action], kinds: Mapping[str, ActionKind] = KINDS) -> Iterator[str]:
    """One line for each secret whose reference leads nowhere or to nothing."""
    for action in actions:
        place = f"{action.source}: " if action.source else ""
        for name, secret in action.secrets.items():
            if fault := _secret_fault(secret):
                yield f"{place}{kinds[action.kind].about(action.resource)}: {name}: {fault}"


def _secret_fault(secret: Secret) -> str | None:
    try:
        secret.reveal()
    except ConfigError as error:
        return "; ".join(error.problems)
    return None
