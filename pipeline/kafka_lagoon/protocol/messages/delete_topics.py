"""DeleteTopics (api key 20): topics deleted by name, or from v6 on by id.

The controller answers: under ZooKeeper any other broker says error 41, under KRaft any broker passes it on (KIP-590).
Surprises:

- Success means that deletion has begun; brokers drop the data later, and may name the topic for a moment longer.
- By name it is whatever topic has the name now; by id, a topic re-created in between is safe (error 100).
- The same topic twice, or name and id of one, is error 42 for that topic.
- Answers come in an order of their own: KRaft shuffles them, so that places tell nothing of what may not be seen.
- A cluster that forbids deletion says error 73 for all (below v3 error 42).
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Uuid, Versions, struct, wire


@struct
class DeleteTopicState:
    """A topic by its name (id zero) or by its id (name null); both at once is error 42."""

    name: String | None = wire(default=None)
    topic_id: Uuid


@struct
class DeleteTopicsRequest:
    """Topics to delete, and how long the controller may take."""

    topics: tuple[DeleteTopicState, ...] = wire(since=6)  # KIP-516
    topic_names: tuple[String, ...] = wire(until=5, ignorable=True)
    timeout_ms: Int32


@struct
class DeletableTopicResult:
    """The result for a topic. If it was named by id, its name is null for clients that may not describe it."""

    name: String | None = wire(nullable_since=6)
    topic_id: Uuid = wire(since=6, ignorable=True)  # zero where it failed by name
    error_code: Int16
    error_message: String | None = wire(since=5, default=None, ignorable=True)


@struct
class DeleteTopicsResponse:
    """One entry per requested topic."""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    responses: tuple[DeletableTopicResult, ...]


DELETE_TOPICS = Api(
    key=20,
    versions=Versions(0, 6),
    flexible=4,
    request=DeleteTopicsRequest,
    response=DeleteTopicsResponse,
)
