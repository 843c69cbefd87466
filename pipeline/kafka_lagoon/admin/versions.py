"""Lists the APIs and features of every broker (ApiVersions).

Brokers differ while they are upgraded one by one, so each broker is asked, and no answer stands for the cluster.
"""

from kafka_lagoon import __version__
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.connection import SOFTWARE_NAME
from kafka_lagoon.client.routes import ByBroker
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import Contradiction
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS, ApiVersionsRequest, ApiVersionsResponse

Versions = Gathered[int, ApiVersionsResponse]


def api_versions(cluster: Cluster, deadline: Deadline) -> Versions:
    """The answer of every broker."""
    request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)
    sharded = ShardedRequest(
        api=API_VERSIONS,
        items=sorted(cluster.brokers),
        build=lambda _: request,
        read=lambda response, items: [(items[0], _code(response), response)],
        chunk=1,
    )
    return gather(cluster, ByBroker(cluster), [sharded], deadline)[0]


def _code(response: ApiVersionsResponse) -> int | Contradiction:
    """The error code of a response; a contradiction if it has an API or a feature twice, with different versions."""
    apis = {(one.api_key, one.min_version, one.max_version) for one in response.api_keys}
    features = {(one.name, one.min_version, one.max_version) for one in response.supported_features}
    are_distinct = len({key for key, *_ in apis}) == len(apis) and len({name for name, *_ in features}) == len(features)
    return response.error_code if are_distinct else Contradiction()
