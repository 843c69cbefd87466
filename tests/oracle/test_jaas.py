"""Our reader of a Java client's `sasl.jaas.config` against Kafka's own."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError

from kafka_lagoon import jaas
from tests.effort import examples
from tests.oracle.java_codec import JavaCodec

pytestmark = pytest.mark.java

_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_PIECES = [
    "a",
    " ",
    "\\",
    "\\\\",
    "\\n",
    "\\t",
    "\\'",
    '\\"',
    "\\7",
    "\\101",
    "\\377",
    "\\400",
    "\\x",
    "'",
    '"',
    ";",
    "//",
    "/*",
    "=",
    "ü",
]


def read_by_kafka(codec: JavaCodec, line: str) -> str | None:
    """Return the option username; None if Kafka refuses the line."""
    kafka = codec.jvm.org.apache.kafka.common
    configs = codec.jvm.java.util.HashMap()
    configs.put("sasl.jaas.config", kafka.config.types.Password(line))
    try:
        (entry,) = kafka.security.JaasContext.loadClientContext(configs).configurationEntries()
    except Py4JJavaError:
        return None
    text: str = entry.getOptions()["username"]
    return text


def read_by_us(line: str) -> str | None:
    try:
        return jaas.settings_of(line)["sasl_username"]
    except ValueError:
        return None


@settings(max_examples=examples(300), deadline=None)
@given(quote=st.sampled_from("'\""), text=st.lists(st.sampled_from(_PIECES), max_size=6).map("".join))
@example(quote="'", text="s3 cret+/;")
def test_quoted_values_are_those_that_kafka_reads(codecs: Sequence[JavaCodec], quote: str, text: str) -> None:
    """Both quotes and every escape give the same value; what Kafka refuses is refused."""
    line = f"{_MODULE} required username={quote}{text}{quote};"
    assert read_by_us(line) == read_by_kafka(codecs[0], line)
