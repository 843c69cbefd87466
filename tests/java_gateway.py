"""Starts JVMs with Kafka's classes for tests, which call them through py4j."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from kafka_lagoon.jars.java import class_path, java_path

# Of a JVM that lives for a minute the second compiler costs more than it saves.
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@contextmanager
def java_gateway(
    jars: Sequence[Path], *options: str, callbacks: Any = None, **parameters: Any
) -> Iterator[JavaGateway]:
    """A gateway to a new JVM with these jars, which ends with the context; `parameters` are py4j's GatewayParameters."""
    port, process = launch_gateway(
        classpath=class_path(jars), java_path=java_path(), javaopts=list(options), die_on_exit=True, return_proc=True
    )
    gateway = JavaGateway(
        gateway_parameters=GatewayParameters(port=port, **parameters), callback_server_parameters=callbacks
    )
    try:
        yield gateway
    finally:
        gateway.shutdown()
        process.kill()  # it waits for the end of its standard input otherwise
        process.wait()
