"""Parses and connects for commands that ask one cluster and are neither jobs nor verbs."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_lagoon.cli.arguments import Parser
from kafka_lagoon.cli.kafka.arguments import ChosenCluster, add_cluster_options
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock, Deadline


class AskingParser(Parser):
    """Has the options of every command that asks a cluster, and adds the required permissions to the help."""

    def __init__(self, command: str, summary: str) -> None:
        super().__init__(command, summary)
        self._command, self._summary = command, summary
        add_cluster_options(self)

    def format_help(self) -> str:
        """Called by argparse for --help."""
        from kafka_lagoon.cli.permissions import permissions_line  # noqa: PLC0415  0.2 s: they are made of all tables

        self.description = f"{self._summary} Required permissions: {permissions_line(self._command)}."
        return super().format_help()


@contextmanager
def connected(chosen: ChosenCluster, options: Namespace, clock: Clock) -> Iterator[tuple[Cluster, Deadline]]:
    """The chosen cluster, and the time that the options allow."""
    budget_ms = round(options.timeout * 1000) if options.timeout else chosen.kafka.default_api_timeout_ms
    deadline = Deadline.after(clock, budget_ms)
    with Cluster.connect(chosen.kafka, clock, RequestStats(), deadline) as cluster:
        yield cluster, deadline
