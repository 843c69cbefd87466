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
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.security_rows import QuotaRow

DEFAULT = "<default>"  # as Kafka's tools print it


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


QUOTAS = Collector(
    table=state_tables.QUOTAS,
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(DESCRIBE_CLIENT_QUOTAS,),
    permissions=(Permission(DESCRIBE_CONFIGS, CLUSTER, "the client quotas are refused"),),
    required=False,
    may_be_skipped=True,
)
