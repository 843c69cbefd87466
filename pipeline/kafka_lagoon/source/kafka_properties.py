"""Finds misspelt properties of Kafka's clients among the options of the data source.

Kafka's clients ignore a property that they do not know. Here one that resembles a known name is refused; others may belong to
somebody's serializer or interceptor. It imports nothing that takes long to load (see source/options.py).
"""

from collections.abc import Iterable

from kafka_lagoon.kafka_settings import NAMES
from kafka_lagoon.text import did_you_mean

# Names of ConsumerConfig and ProducerConfig of Kafka 4.3, and auto.include.jmx.reporter of 3.9; security is not among them.
_OF_CLIENTS = """
    acks allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset batch.size
    bootstrap.servers buffer.memory check.crcs client.dns.lookup client.id client.rack compression.gzip.level
    compression.lz4.level compression.type compression.zstd.level config.providers connections.max.idle.ms
    default.api.timeout.ms delivery.timeout.ms enable.auto.commit enable.idempotence enable.metrics.push
    exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id group.instance.id group.protocol
    group.remote.assignor heartbeat.interval.ms interceptor.classes isolation.level key.deserializer key.serializer
    linger.ms max.block.ms max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms
    max.poll.records max.request.size metadata.max.age.ms metadata.max.idle.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters metrics.num.samples
    metrics.recording.level metrics.sample.window.ms partition.assignment.strategy
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms
    retries retry.backoff.max.ms retry.backoff.ms send.buffer.bytes session.timeout.ms share.acknowledgement.mode
    share.acquire.mode socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
    transaction.timeout.ms transaction.two.phase.commit.enable transactional.id value.deserializer value.serializer
"""
_KNOWN = frozenset(_OF_CLIENTS.split())
_SECURITY = ("ssl.", "sasl.", "security.")  # those that are not supported are refused by `from_properties`


def misspelt(properties: Iterable[str]) -> list[str]:
    """A fault for each unknown property whose name resembles that of a property of Kafka's clients or of the connection."""
    known = _KNOWN | {name.replace("_", ".") for name in NAMES}
    hints = {
        name: did_you_mean(name, sorted(known))
        for name in properties
        if name.replace(".", "_") not in NAMES and name not in _KNOWN and not name.startswith(_SECURITY)
    }
    return [f"kafka.{name}: no such property{hint}" for name, hint in sorted(hints.items()) if hint]
