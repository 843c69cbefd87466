"""Runs Kafka's command-line tools in one JVM: thirty runs take as long as two with a JVM each."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from types import SimpleNamespace
from typing import Self

from py4j.java_gateway import CallbackServerParameters, JavaGateway
from py4j.protocol import Py4JError

from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.java_gateway import SHORT_LIVED, java_gateway

_JVM_OPTIONS = ("-Xmx192m", *SHORT_LIVED, "-Dfile.encoding=UTF-8", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")


class _Ended(Exception):
    """A tool has called exit."""


class _Exit:
    """Replaces the exit of a tool; keeps the first code, because some tools take our exception for their own error."""

    def __init__(self, package: str) -> None:
        self.code: int | None = None
        self.Java = SimpleNamespace(implements=[f"{package}.Exit$Procedure"])  # the interface that py4j implements

    def execute(self, code: int, message: str | None) -> None:
        """Kafka's Exit.Procedure."""
        self.code = code if self.code is None else self.code
        raise _Ended(message)


class ToolsInOne:
    """Kafka's tools of one release, for any number of calls."""

    def __init__(self, gateway: JavaGateway, kafka_version: str) -> None:
        package = "org.apache.kafka.common.utils" if kafka_version < "4" else "org.apache.kafka.common.utils.internals"
        self._gateway, self._exit = gateway, _Exit(package)
        # One stream for all tools: tools in Scala (before Kafka 3.x) keep the stream of the first call.
        self._printed = gateway.jvm.java.io.ByteArrayOutputStream()
        gateway.jvm.java.lang.System.setOut(gateway.jvm.java.io.PrintStream(self._printed, True))
        reduce(getattr, package.split("."), gateway.jvm).Exit.setExitProcedure(self._exit)

    def run(self, main_class: str, *arguments: str) -> str:
        """Return the output of the tool, which must succeed."""
        java = self._gateway.jvm.java
        self._printed.reset()
        self._exit.code = None
        given = self._gateway.new_array(java.lang.String, len(arguments))
        for index, argument in enumerate(arguments):
            given[index] = argument
        tool = reduce(getattr, main_class.split("."), self._gateway.jvm)
        try:
            tool.main(given)
        except Py4JError:  # after a Spark session PySpark converts Py4JJavaError to other exceptions
            assert self._exit.code is not None
        assert not self._exit.code, f"{main_class} {arguments}: {self._printed.toString()}"
        return str(self._printed.toString())


@contextmanager
def tools_in_one(kafka_version: str) -> Iterator[ToolsInOne]:
    """Start the tools of a release."""
    jars = jar_paths(f"kafka-{kafka_version}")
    with java_gateway(jars, *_JVM_OPTIONS, callbacks=CallbackServerParameters(port=0)) as gateway:
        listening = gateway.get_callback_server()
        client = gateway.java_gateway_server
        client.resetCallbackClient(client.getCallbackClient().getAddress(), listening.get_listening_port())
        logging.getLogger("py4j").setLevel(logging.CRITICAL)  # otherwise it prints each exit of a tool
        yield ToolsInOne(gateway, kafka_version)


class ToolsOfReleases:
    """Kafka's tools of each requested release, each in a JVM that ends with the context."""

    def __init__(self) -> None:
        self._of: dict[str, ToolsInOne] = {}
        self._running = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def of(self, kafka_version: str) -> ToolsInOne:
        """Return the tools of a release, which are started at the first request."""
        if kafka_version not in self._of:
            self._of[kafka_version] = self._running.enter_context(tools_in_one(kafka_version))
        return self._of[kafka_version]

    def give_to(self, kafka: LocalKafka) -> LocalKafka:
        """Make a cluster run its tools here instead of in a JVM for each call."""

        def tool(main_class: str, *arguments: str) -> str:
            return self.of(kafka.version).run(main_class, *arguments)

        kafka.tool = tool  # type: ignore[method-assign]
        return kafka
