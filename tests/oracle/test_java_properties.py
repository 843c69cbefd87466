"""Our parser of properties files against Java's own."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_lagoon import java_properties
from tests.effort import examples
from tests.oracle.java_codec import JavaCodec

pytestmark = pytest.mark.java

_PIECES = [
    "a",
    "b.c",
    "=",
    ":",
    " ",
    "\t",
    "\\",
    "\\\\",
    "\n",
    "\n  ",
    "\r\n",
    "#",
    "!",
    "\\n",
    "\\u0041",
    '"',
    ";",
    "ü",
]


@settings(max_examples=examples(300), deadline=None)
@given(text=st.lists(st.sampled_from(_PIECES), max_size=14).map("".join))
def test_as_java_reads_it(codecs: Sequence[JavaCodec], text: str) -> None:
    """Keys and values are equal, with any escapes, continuations and omissions, except that we drop an empty key."""
    jvm = codecs[0].jvm
    theirs = jvm.java.util.Properties()
    theirs.load(jvm.java.io.StringReader(text))
    by_java = {key: theirs.getProperty(key) for key in theirs.stringPropertyNames()}
    assert java_properties.read(text) == {key: value for key, value in by_java.items() if key}
