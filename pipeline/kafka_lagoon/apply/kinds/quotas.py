"""Alters the quotas of users, clients and addresses.

Kind `alter_quotas`, resource `quota`, named by its parts (`user=alice, client-id=<default>`): {key: value or null} ->
{key: value or null}, only the keys that change; null is no limit. Brokers can check it without doing it.
"""

from collections.abc import Iterable, Mapping, Sequence

from kafka_lagoon.admin.quotas import alter_client_quotas, describe_client_quotas, entity_of
from kafka_lagoon.apply.action import Action, ActionKind, Resource, State
from kafka_lagoon.apply.kinds.names import parse_quota_name, quota_name
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_client_quotas import ClientQuotas, QuotaEntity

_LARGEST = 2.0**63


def number(value: float) -> int | float:
    """A limit as JSON: whole numbers without a fraction, up to those of 64 bits."""
    return int(value) if float(value).is_integer() and abs(value) < _LARGEST else value


def quotas_of(described: Iterable[ClientQuotas]) -> dict[QuotaEntity, dict[str, int | float]]:
    """The limits of each described entity."""
    return {entity_of(one.entity): {value.key: number(value.value) for value in one.values} for one in described}


def alter_quotas(
    about: QuotaEntity,
    live: Mapping[str, int | float],
    wanted: Mapping[str, int | float | None],
    source: str | None = None,
) -> Action | None:
    """The action that sets or removes limits, given all limits of the entity; None if nothing changes."""
    changes = {key: None if value is None else number(value) for key, value in wanted.items() if live.get(key) != value}
    if not changes:
        return None
    before = {key: live.get(key) for key in changes}
    return Action(
        kind="alter_quotas", resource=Resource("quota", quota_name(about)), before=before, after=changes, source=source
    )


def _read(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> Mapping[Resource, State | Failure]:
    described = describe_client_quotas(cluster, deadline)
    if isinstance(described, Failure):
        return {action.resource: described for action in actions}
    live = quotas_of(described)
    return {
        action.resource: _of_keys(live.get(parse_quota_name(action.resource.name), {}), action) for action in actions
    }


def _of_keys(limits: Mapping[str, int | float], action: Action) -> State:
    return {key: limits.get(key) for key in action.after or {}}


def _send(
    cluster: Cluster, actions: Sequence[Action], validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    resources = {parse_quota_name(action.resource.name): action.resource for action in actions}
    changes = {parse_quota_name(action.resource.name): dict(action.after or {}) for action in actions}
    gathered = alter_client_quotas(cluster, changes, deadline, validate_only=validate_only)
    return {resources[one]: failure for one, failure in gathered.failures.items()}


ALTER_QUOTAS = ActionKind(name="alter_quotas", title="alter quota", read=_read, send=_send, can_validate=True)
