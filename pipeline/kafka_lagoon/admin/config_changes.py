"""Alters the configs of resources, by IncrementalAlterConfigs (KIP-339), which sends only the changes.

Brokers before Kafka 2.3 know only AlterConfigs, which unsets all configs that are not sent: there all configs of a resource are
read and sent again, and a log event tells it. A resource with a sensitive value is refused, because nobody can read it.
"""

from collections.abc import Iterator, Mapping, Sequence

from kafka_lagoon import log
from kafka_lagoon.admin.config_values import SENSITIVE, ConfigResource, config_values
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, own_failure
from kafka_lagoon.client.routes import ByBroker, ByController
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.alter_configs import (
    ALTER_CONFIGS,
    AlterConfigsEntry,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from kafka_lagoon.protocol.messages.incremental_alter_configs import (
    DELETE,
    INCREMENTAL_ALTER_CONFIGS,
    SET,
    IncrementalAlterConfigsEntry,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)

Changes = Mapping[str, str | None]  # None: unset
_Response = IncrementalAlterConfigsResponse | AlterConfigsResponse
_CHUNK = 500  # resources in one request
# Most configs in one request: each is a record of the metadata log, and the controller writes at most 10,000 for one request.
_RECORDS = 5_000
WOULD_UNSET_SECRETS = "WOULD_UNSET_SECRETS"


class _ByOwnBroker(ByController):
    """Routes a broker's own configs to the broker, all others to the controller."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, ConfigResource.scope)
        self._brokers = ByBroker(cluster)

    def node_of(self, item: ConfigResource) -> int | None:  # type: ignore[override]
        """The broker to send to."""
        return self._brokers.node_of(int(item.name)) if item.is_one_broker else super().node_of(item)


def alter_configs(
    cluster: Cluster,
    changes: Mapping[ConfigResource, Changes],
    deadline: Deadline,
    *,
    validate_only: bool = False,
) -> Mapping[ConfigResource, Failure]:
    """Set and unset configs, and return the failures by resource. A resource gets all of its changes or none."""

    def build(resources: Sequence[ConfigResource]) -> IncrementalAlterConfigsRequest:
        return IncrementalAlterConfigsRequest(
            resources=tuple(_incremental(one, changes[one]) for one in resources), validate_only=validate_only
        )

    most = max(map(len, changes.values()), default=1)
    # Repeated, it has the same effect, but another client may have changed them since.
    sharded: ShardedRequest[ConfigResource, None] = ShardedRequest(
        api=INCREMENTAL_ALTER_CONFIGS,
        items=list(changes),
        build=build,
        read=_read,
        chunk=min(_CHUNK, max(1, _RECORDS // max(1, most))),
        once=not validate_only,
    )
    failures = gather(cluster, _ByOwnBroker(cluster), [sharded], deadline)[0].failures
    too_old = {one: changes[one] for one, failure in failures.items() if failure.is_too_old}
    kept = {one: failure for one, failure in failures.items() if one not in too_old}
    return {**kept, **_replace_configs(cluster, too_old, deadline, validate_only=validate_only)} if too_old else kept


def _incremental(resource: ConfigResource, changes: Changes) -> IncrementalAlterConfigsResource:
    entries = (
        IncrementalAlterConfigsEntry(name=name, config_operation=DELETE if value is None else SET, value=value)
        for name, value in changes.items()
    )
    return IncrementalAlterConfigsResource(
        resource_type=resource.resource_type, resource_name=resource.name, configs=tuple(entries)
    )


def _replace_configs(
    cluster: Cluster, changes: Mapping[ConfigResource, Changes], deadline: Deadline, *, validate_only: bool
) -> Mapping[ConfigResource, Failure]:
    """Send all configs of the resources, with the changes in them."""
    whole: dict[ConfigResource, Mapping[str, str]] = {}
    failures: dict[ConfigResource, Failure] = {}
    for resource, values in config_values(cluster, list(changes), deadline).items():
        if isinstance(values, Failure):
            failures[resource] = values
            continue
        own = {name: value.own for name, value in values.items() if value.own is not None}
        merged = {name: value for name, value in {**own, **changes[resource]}.items() if value is not None}
        lost = sorted(name for name, value in merged.items() if value == SENSITIVE)
        if lost:
            text = f"brokers before Kafka 2.3 would unset {', '.join(lost)}, which nobody can read"
            failures[resource] = own_failure(ALTER_CONFIGS.name, resource.scope(), WOULD_UNSET_SECRETS, text)
        else:
            whole[resource] = merged
    log.info("configs_replaced_as_a_whole", resources=[str(one) for one in whole], validate_only=validate_only)
    return {**failures, **_alter_whole(cluster, whole, deadline, validate_only=validate_only)}


def _alter_whole(
    cluster: Cluster, whole: Mapping[ConfigResource, Mapping[str, str]], deadline: Deadline, *, validate_only: bool
) -> Mapping[ConfigResource, Failure]:
    def build(resources: Sequence[ConfigResource]) -> AlterConfigsRequest:
        return AlterConfigsRequest(
            resources=tuple(
                AlterConfigsResource(
                    resource_type=one.resource_type,
                    resource_name=one.name,
                    configs=tuple(AlterConfigsEntry(name=name, value=value) for name, value in whole[one].items()),
                )
                for one in resources
            ),
            validate_only=validate_only,
        )

    sharded: ShardedRequest[ConfigResource, None] = ShardedRequest(
        api=ALTER_CONFIGS,
        items=list(whole),
        build=build,
        read=_read,
        chunk=_CHUNK,
        once=not validate_only,
    )
    return gather(cluster, _ByOwnBroker(cluster), [sharded], deadline)[0].failures


def _read(response: _Response, _: Sequence[ConfigResource]) -> Iterator[tuple[ConfigResource, int, None, str | None]]:
    for result in response.responses:
        yield ConfigResource(result.resource_type, result.resource_name), result.error_code, None, result.error_message
