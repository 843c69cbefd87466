"""The processing graph of a Kafka Streams application, as members send it and brokers return it (KIP-1331)."""

from kafka_lagoon.wire.schema import Int8, String, struct, wire

# As node_type.
SOURCE = 1
PROCESSOR = 2
SINK = 3


@struct
class StreamsTopologyNode:
    """A node: what it reads or writes, which stores it uses, and the nodes that follow it."""

    name: String
    node_type: Int8
    source_topics: tuple[String, ...]  # empty too where a pattern chooses them
    sink_topic: String | None = wire(default=None)  # null too where each record chooses it
    stores: tuple[String, ...]
    successors: tuple[String, ...]


@struct
class StreamsTopologySubtopology:
    """A part of the topology whose tasks are assigned as one."""

    subtopology_id: String
    nodes: tuple[StreamsTopologyNode, ...]


@struct
class StreamsTopologyGlobalStore:
    """A store that every client fills from all partitions of a topic."""

    source: StreamsTopologyNode
    processor: StreamsTopologyNode


@struct
class StreamsTopologyDescription:
    """The nodes of all subtopologies, and the global stores."""

    subtopologies: tuple[StreamsTopologySubtopology, ...]
    global_stores: tuple[StreamsTopologyGlobalStore, ...]
