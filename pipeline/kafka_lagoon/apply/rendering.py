"""Shows a plan as a diff that people can read, and its actions as JSON for scripts. No secret is in either."""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_lagoon.apply.action import Action, State, json_values
from kafka_lagoon.text import printable

_ADDED, _CHANGED, _DELETED = "+", "~", "-"


def render(actions: Sequence[Action]) -> list[str]:
    """A heading for each action, `+` for what is created, `~` changed, `-` deleted, and below it what differs."""
    return [line for action in actions for line in _lines(action)]


def summary(actions: Sequence[Action]) -> str:
    """The number of actions that add, change and delete something."""
    signs = [_sign(action) for action in actions]
    counts = ((_ADDED, "to add"), (_CHANGED, "to change"), (_DELETED, "to delete"))
    return ", ".join(f"{signs.count(sign)} {what}" for sign, what in counts)


def as_json(action: Action) -> dict[str, Any]:
    """An action as scripts see it."""
    return {
        "action": action.kind,
        "resource_type": action.resource.type,
        "resource_name": action.resource.name,
        "before": json_values(action.before),
        "after": json_values(action.after),
        "guards": sorted(action.guards),
        "source": action.source,
    }


def _sign(action: Action) -> str:
    if action.after is None:
        return _DELETED
    return _ADDED if action.before is None else _CHANGED


def _lines(action: Action) -> list[str]:
    needed = "".join(f"  needs --{guard}" for guard in sorted(action.guards))
    source = f"  ({action.source})" if action.source else ""
    kind = action.kind.replace("_", " ")
    lines = [f"{_sign(action)} {action.resource}: {kind}{needed}{source}"]
    before, after = _flat(action.before), _flat(action.after)
    names = [*after, *(name for name in before if name not in after)]
    if action.after is None:
        names = list(before)
    width = max(map(len, names), default=0)
    lines += [f"    {name:{width}}  {_change(action, before, after, name)}" for name in names]
    return [printable(line) for line in lines]


def _change(action: Action, before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> str:
    if action.before is None or action.after is None:
        return _shown((after if action.before is None else before)[name])
    if name not in after:
        return _shown(before[name])
    if name not in before or before[name] == after[name]:
        return _shown(after[name])
    return f"{_shown(before[name])} -> {_shown(after[name])}"


def _flat(state: State) -> dict[str, Any]:
    """Values by name; those of a table in a state, such as configs, beside the others."""
    flat: dict[str, Any] = {}
    for name, value in (state or {}).items():
        if isinstance(value, Mapping):
            flat |= {inner if name == "configs" else f"{name} {inner}": some for inner, some in value.items()}
        else:
            flat[name] = value
    return flat


def _shown(value: Any) -> str:
    """A value as people write it: null is what is not set."""
    if value is None:
        return "(not set)"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(json_values(value))
