"""Describes and alters the client quotas of a cluster: limits of users, clients and addresses (KIP-546)."""

from collections.abc import Mapping, Sequence
from operator import itemgetter

from kafka_lagoon.client.agreement import ask_two
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.client.metadata_checks import NOT_RETURNED
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.alter_client_quotas import (
    ALTER_CLIENT_QUOTAS,
    AlterClientQuotaEntity,
    AlterClientQuotaEntry,
    AlterClientQuotaOperation,
    AlterClientQuotasRequest,
)
from kafka_lagoon.protocol.messages.describe_client_quotas import (
    DESCRIBE_CLIENT_QUOTAS,
    ClientQuotaEntity,
    ClientQuotas,
    DescribeClientQuotasRequest,
    QuotaEntity,
)

_CHUNK = 1_000  # entities in one request


def describe_client_quotas(cluster: Cluster, deadline: Deadline) -> Sequence[ClientQuotas] | Failure:
    """Every entity that has quotas of its own, from any broker."""
    everything, scope = DescribeClientQuotasRequest(components=(), strict=False), Scope.list("client quotas")
    answer = ask_two(cluster, DESCRIBE_CLIENT_QUOTAS, everything, scope, deadline)
    if isinstance(answer, Failure):
        return answer
    if answer.entries is None:  # as beside an error: without quotas the list is empty
        return own_failure(DESCRIBE_CLIENT_QUOTAS, scope, NOT_RETURNED, "the answer leaves out the list")
    return answer.entries


def entity_of(parts: Sequence[ClientQuotaEntity | AlterClientQuotaEntity]) -> QuotaEntity:
    """The parts of an answer in the order of `QuotaEntity`. A default has no name, so names are not compared."""
    return tuple(sorted(((part.entity_type, part.entity_name) for part in parts), key=itemgetter(0)))


def alter_client_quotas(
    cluster: Cluster,
    changes: Mapping[QuotaEntity, Mapping[str, float | None]],
    deadline: Deadline,
    *,
    validate_only: bool = False,
) -> Gathered[QuotaEntity, None]:
    """Set limits, or remove those that are None; of one entity all or none. Rates are per broker, in bytes a second."""
    sharded: ShardedRequest[QuotaEntity, None] = ShardedRequest(
        api=ALTER_CLIENT_QUOTAS,
        items=list(changes),
        build=lambda items: AlterClientQuotasRequest(
            entries=tuple(_entry(entity, changes[entity]) for entity in items), validate_only=validate_only
        ),
        read=lambda response, _: [
            (entity_of(result.entity), result.error_code, None, result.error_message) for result in response.entries
        ],
        chunk=_CHUNK,
        once=False,
    )
    return gather(cluster, ByController(cluster, _scope), [sharded], deadline)[0]


def _scope(entity: QuotaEntity) -> Scope:
    parts = (f"{kind}={'<default>' if name is None else name}" for kind, name in entity)
    return Scope.list(f"quota {', '.join(parts)}")


def _entry(entity: QuotaEntity, limits: Mapping[str, float | None]) -> AlterClientQuotaEntry:
    parts = (AlterClientQuotaEntity(entity_type=kind, entity_name=name) for kind, name in entity)
    ops = (
        AlterClientQuotaOperation(key=key, value=0.0 if value is None else value, remove=value is None)
        for key, value in limits.items()
    )
    return AlterClientQuotaEntry(entity=tuple(parts), ops=tuple(ops))
