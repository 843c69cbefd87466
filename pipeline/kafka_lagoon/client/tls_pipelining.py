"""Decides whether a broker may get several requests at once over a TLS connection.

Brokers before 3.3 leave requests that they have read from a TLS connection, but not handled, for 300 ms (KAFKA-13559).
"""

from collections.abc import Mapping

from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.wire.schema import Versions

_PIPELINED_TLS_FETCH = 14  # came with 3.5; releases between lose nothing but the pipelining


def may_pipeline(offered: Mapping[int, Versions]) -> bool:
    """True for brokers that offer these versions by API key and handle requests that are buffered."""
    fetch = offered.get(FETCH.key)
    return fetch is not None and fetch.highest >= _PIPELINED_TLS_FETCH
