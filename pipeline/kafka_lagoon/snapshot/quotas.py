"""Makes rows of client quotas."""

from collections.abc import Iterable, Iterator

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.admin.quotas import describe_client_quotas
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.acls import CLUSTER, DESCRIBE_CONFIGS
from kafka_lagoon.protocol.messages.describe_client_quotas import (
    CLIENT_ID,
    DESCRIBE_CLIENT_QUOTAS,
    IP,
    USER,
    ClientQuotas,
)
from kafka_lagoon.row_classes import ALWAYS, column, row
from kafka_lagoon.snapshot.state_table import Collected, Collection, Phase, StateTable

DEFAULT = "<default>"  # as Kafka's tools print it


@row
class QuotaRow:
    """Client quotas, one row per entity, limit and snapshot. An entity is a user, a client.id, both together, or an address.

    Which limit applies to a client is decided by the broker: the one of the most specific entity.
    """

    user: str | None = column(
        "User, or <default>: all users without a quota of their own; null if the entity has no user.", null_if=ALWAYS
    )
    client_id: str | None = column(
        "client.id, or <default>: all without a quota of their own; null if the entity has none.", null_if=ALWAYS
    )
    ip: str | None = column(
        "Address of clients, or <default>: all without a quota of their own; null if the entity has none.",
        null_if=ALWAYS,
    )
    name: str = column("Name of the limit: producer_byte_rate, consumer_byte_rate, request_percentage and so on.")
    value: float = column("The limit: bytes/s, percent of a thread, partition changes/s or connections/s.")


def quota_rows(entries: Iterable[ClientQuotas]) -> Iterator[QuotaRow]:
    """One row per entity and limit, ordered by user, client.id, address and name."""
    rows = [quota for entry in entries for quota in _entity_rows(entry)]
    yield from sorted(rows, key=lambda quota: (quota.user or "", quota.client_id or "", quota.ip or "", quota.name))


def _entity_rows(entry: ClientQuotas) -> Iterator[QuotaRow]:
    parts = {part.entity_type: DEFAULT if part.entity_name is None else part.entity_name for part in entry.entity}
    for limit in entry.values:
        yield QuotaRow(
            user=parts.get(USER),
            client_id=parts.get(CLIENT_ID),
            ip=parts.get(IP),
            name=limit.key,
            value=limit.value,
        )


def _collect(collection: Collection) -> Collected:
    entries = describe_client_quotas(collection.cluster, collection.deadline)
    return Collected([], [entries]) if isinstance(entries, Failure) else Collected(list(quota_rows(entries)))


QUOTAS = StateTable(
    name="quotas",
    row=QuotaRow,
    key=("user", "client_id", "ip", "name"),
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(DESCRIBE_CLIENT_QUOTAS,),
    permissions=(Permission(DESCRIBE_CONFIGS, CLUSTER, "the client quotas are refused"),),
    required=False,
    may_be_skipped=True,
    when_changed=True,
    added_in="0.2.0",
)
