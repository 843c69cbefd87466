"""Sets and unsets configs of topics, brokers, groups, client metrics and loggers.

Resource: topic, broker, group, client_metrics or broker_logger NAME; broker <default> is all brokers. Shape: {config: value set
on the resource itself, null if it is not set} -> {config: new value, null to unset it}, only configs that change. A sensitive
value is "(sensitive)" in both, and the new one is in the action's secrets. The value of a logger is its level, whoever set it.

Another client's change between reading and sending is not undone: configs that the action does not name stay as they are.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.admin.config_changes import alter_configs
from kafka_lagoon.admin.config_values import SENSITIVE, ConfigResource, Values, config_values, is_sensitive
from kafka_lagoon.admin.configs import ALL_BROKERS
from kafka_lagoon.apply.action import Action, ActionKind, Guard, Resource, State
from kafka_lagoon.apply.config_texts import may_be_same
from kafka_lagoon.apply.kinds.topic_guards import internal_guards
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from kafka_lagoon.secret import Secret

_TYPES: Mapping[str, int] = {
    "topic": TOPIC,
    "broker": BROKER,
    "group": GROUP,
    "client_metrics": CLIENT_METRICS,
    "broker_logger": BROKER_LOGGER,
}
_TYPE_NAMES = {number: name for name, number in _TYPES.items()}
# Limits of retention: first those of topics, then those of brokers; a lower limit deletes records.
_LIMITS = frozenset(
    {
        "retention.ms",
        "retention.bytes",
        "local.retention.ms",
        "local.retention.bytes",
        "log.retention.ms",
        "log.retention.minutes",
        "log.retention.hours",
        "log.retention.bytes",
        "log.local.retention.ms",
        "log.local.retention.bytes",
    }
)
_POLICIES = frozenset({"cleanup.policy", "log.cleanup.policy"})
_UNCLEAN, _TIERED = "unclean.leader.election.enable", "remote.storage.enable"
_UNLIMITED = -1


def config_resource(resource: Resource) -> ConfigResource:
    """The resource as brokers identify it."""
    return named_resource(_TYPES[resource.type], resource.name)


def named_resource(resource_type: int, name: str) -> ConfigResource:
    """The resource with a name. <default> means all brokers; groups and client metrics may have it as an ordinary name."""
    return ConfigResource(resource_type, "" if (resource_type, name) == (BROKER, ALL_BROKERS) else name)


def resource_with_configs(of: ConfigResource) -> Resource:
    """The resource as actions name it."""
    return Resource(_TYPE_NAMES[of.resource_type], ALL_BROKERS if of == (BROKER, "") else of.name)


def change_configs(
    of: ConfigResource,
    values: Values,
    changes: Mapping[str, str | Secret | None],
    source: str | None = None,
) -> Action | None:
    """An action for changes (None: unset) that differ from the set values; None if there are none.

    `values` are the resource's configs as `config_values` reads them.
    """
    shown = {name: SENSITIVE if _is_secret(values, name, value) else value for name, value in changes.items()}
    own = {name: values[name].own if name in values else None for name in changes}
    differing = [name for name in changes if own[name] != shown[name] or shown[name] == SENSITIVE]
    if not differing:
        return None
    before = {name: own[name] for name in differing}
    after = {name: str(value) if value is not None else None for name, value in shown.items() if name in differing}
    secrets = {name: _secret(changes[name]) for name in differing if after[name] == SENSITIVE}
    resource_type = _TYPE_NAMES[of.resource_type]
    guards = config_guards(resource_type, before, after, _inherited(values))
    if guards and resource_type == "topic":
        guards |= internal_guards(of.name)
    return Action(
        kind="alter_configs",
        resource=resource_with_configs(of),
        before=before,
        after=after,
        guards=guards,
        secrets=secrets,
        source=source,
    )


def _is_secret(values: Values, name: str, value: str | Secret | None) -> bool:
    return value is not None and (isinstance(value, Secret) or is_sensitive(values, name))


def _secret(value: str | Secret | None) -> Secret:
    return value if isinstance(value, Secret) else Secret(value or "")


def _inherited(values: Values) -> Mapping[str, str | None]:
    return {name: value.inherited for name, value in values.items()}


def config_guards(
    resource_type: str,
    before: Mapping[str, str | None],
    after: Mapping[str, str | None],
    inherited: Mapping[str, str | None] | None = None,
) -> frozenset[Guard]:
    """Guards of a change of configs that lowers retention, or lets replicas lead that do not have all records.

    `inherited` are the values that hold where nothing is set; if one is unknown, the change counts as dangerous.
    """
    if resource_type not in ("topic", "broker"):
        return frozenset()
    defaults = inherited or {}
    return frozenset(
        guard
        for name, value in after.items()
        if (guard := _guard(name, _effective(name, before.get(name), defaults), _effective(name, value, defaults)))
    )


def _guard(name: str, old: str | None, new: str | None) -> Guard | None:
    if name == _UNCLEAN:
        return Guard.UNCLEAN_ELECTIONS if not _is(old, "true") and not _is(new, "false") else None
    if (
        (name in _LIMITS and _is_lower(old, new))
        or (name in _POLICIES and _deletes_more(old, new))
        or (name == _TIERED and not _is(old, "false") and not _is(new, "true"))  # deletes what is tiered (KIP-950)
    ):
        return Guard.SHRINKING_RETENTION
    return None


def _is(value: str | None, boolean: str) -> bool:
    return value is not None and value.strip().lower() == boolean


def _effective(name: str, own: str | None, inherited: Mapping[str, str | None]) -> str | None:
    return inherited.get(name) if own is None else own


def _is_lower(old: str | None, new: str | None) -> bool:
    """True if the new limit is lower, or may be: local.retention.ms of -2 is that of another config."""
    if old == new and old is not None:
        return False
    try:
        after = int(new or "")
        if after == _UNLIMITED:
            return False
        before = int(old or "")
    except ValueError:
        return True
    if min(before, after) < _UNLIMITED:
        return True
    return before == _UNLIMITED or after < before


def _deletes_more(old: str | None, new: str | None) -> bool:
    if old is None or new is None:
        return True
    return not _words(new) <= _words(old)


def _words(policy: str) -> set[str]:
    return {word.strip() for word in policy.split(",") if word.strip()}


def _read(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> Mapping[Resource, State | Failure]:
    known = config_values(cluster, [config_resource(action.resource) for action in actions], deadline)
    states: dict[Resource, State | Failure] = {}
    for action in actions:
        values = known[config_resource(action.resource)]
        named = {**(action.before or {}), **(action.after or {})}
        states[action.resource] = (
            values
            if isinstance(values, Failure)
            else {name: values[name].own if name in values else None for name in named}
        )
    return states


def _is_done(action: Action, live: State) -> bool:
    """True if all values are set. A secret that was set before may still be the old one."""
    before, after = action.before or {}, action.after or {}
    if live is None or any(value == SENSITIVE == before.get(name) for name, value in after.items()):
        return False
    if action.resource.type == "broker_logger":  # an unset logger has the level of its parent
        after = {name: value for name, value in after.items() if value is not None or live[name] == before.get(name)}
    return all(may_be_same(name, live.get(name), value) for name, value in after.items())


def _send(
    cluster: Cluster,
    actions: Sequence[Action],
    validate_only: bool,
    deadline: Deadline,
) -> Mapping[Resource, Failure]:
    changes = {config_resource(action.resource): _changes(action) for action in actions}
    failures = alter_configs(cluster, changes, deadline, validate_only=validate_only)
    return {resource_with_configs(one): failure for one, failure in failures.items()}


def _changes(action: Action) -> Mapping[str, str | None]:
    revealed = {name: secret.reveal() for name, secret in action.secrets.items()}
    return {**(action.after or {}), **revealed}


ALTER_CONFIGS = ActionKind(
    name="alter_configs",
    title="alter configs of {type}",
    read=_read,
    send=_send,
    can_validate=True,
    is_done=_is_done,
    topic_of=lambda resource: resource.name if _TYPES[resource.type] == TOPIC else None,
)
