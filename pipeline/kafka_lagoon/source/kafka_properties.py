"""Finds misspelt properties of Kafka's clients among the options of the data source.

Kafka's clients ignore a property that they do not know. Here one that misspells a known name is refused; others may belong to
somebody's serializer or interceptor. It imports nothing that takes long to load (see source/options.py).
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from kafka_lagoon.kafka_settings import NAMES

# Names of ConsumerConfig and ProducerConfig of Kafka 4.4, and auto.include.jmx.reporter of 3.9; security is not among them.
_OF_CLIENTS = """
    acks allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset batch.size
    bootstrap.resolve.timeout.ms bootstrap.servers buffer.memory buffer.memory.allocation.strategy check.crcs
    client.dns.lookup client.id client.rack compression.gzip.level compression.lz4.level compression.type
    compression.zstd.level config.providers connections.max.idle.ms default.api.timeout.ms delivery.timeout.ms
    enable.auto.commit enable.idempotence enable.metrics.push exclude.internal.topics fetch.max.bytes
    fetch.max.wait.ms fetch.min.bytes group.id group.instance.id group.protocol group.remote.assignor
    heartbeat.interval.ms interceptor.classes isolation.level key.deserializer key.serializer linger.ms max.block.ms
    max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms max.poll.records
    max.request.size metadata.cluster.check.enable metadata.max.age.ms metadata.max.idle.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters metrics.num.samples
    metrics.recording.level metrics.sample.window.ms partition.assignment.strategy
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys partitioner.rack.aware receive.buffer.bytes reconnect.backoff.max.ms
    reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms send.buffer.bytes
    session.timeout.ms share.acknowledgement.mode share.acquire.mode socket.connection.setup.timeout.max.ms
    socket.connection.setup.timeout.ms transaction.timeout.ms transaction.two.phase.commit.enable transactional.id
    value.deserializer value.serializer
"""
_KNOWN = frozenset(_OF_CLIENTS.split())
_ALIKE = 0.85  # of 1: a letter or two differ
_SECURITY = ("ssl.", "sasl.", "security.")  # those that are not supported are refused by `from_properties`


def misspelt(properties: Iterable[str]) -> list[str]:
    """A fault for each unknown property that differs by a letter or two from one of Kafka's clients or of the connection."""
    known = _KNOWN | {name.replace("_", ".") for name in NAMES}
    meant = {
        name: _meant(name, known)
        for name in properties
        if name.replace(".", "_") not in NAMES and name not in _KNOWN and not name.startswith(_SECURITY)
    }
    return [f"kafka.{name}: no such property (did you mean {near}?)" for name, near in sorted(meant.items()) if near]


def _meant(name: str, known: Collection[str]) -> str | None:
    """The known name that this one misspells; a name with more parts, such as key.deserializer.encoding, is another one."""
    of_same_length = [one for one in known if one.count(".") == name.replace("_", ".").count(".")]
    return next(iter(get_close_matches(name.replace("_", "."), of_same_length, n=1, cutoff=_ALIKE)), None)
