"""StreamsGroupTopologyDescriptionUpdate (api key 93): a member sends the nodes of its topology (KIP-1331).

The coordinator of the group answers, and keeps them by a plugin: without one it is error 42. Members send it when the answer
to a heartbeat asks for it. A member that is not in the group, or whose group was deleted, is error 25. If the plugin
fails it is error 135.
"""

from kafka_lagoon.protocol.streams_topology import StreamsTopologyDescription
from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Versions, struct, wire


@struct
class StreamsGroupTopologyDescriptionUpdateRequest:
    """A member, and its topology with the version of it."""

    group_id: String
    member_id: String
    topology_epoch: Int32
    topology_description: StreamsTopologyDescription


@struct
class StreamsGroupTopologyDescriptionUpdateResponse:
    """An error code, 0 if the topology is stored."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)


STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = Api(
    key=93,
    versions=Versions(0, 0),
    flexible=0,
    request=StreamsGroupTopologyDescriptionUpdateRequest,
    response=StreamsGroupTopologyDescriptionUpdateResponse,
)
