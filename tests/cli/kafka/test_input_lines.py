"""Lines of input are passed on whole and at once."""

import os
import threading
from pathlib import Path

import pytest

from kafka_lagoon.cli.kafka.input_lines import bursts
from kafka_lagoon.errors import ConfigError


def test_lines_are_passed_on_as_they_come() -> None:
    """Lines of a pausing pipe are passed on, and a line that arrives in parts is joined."""
    source, sink = os.pipe()
    read = bursts(source, 1 << 20)
    os.write(sink, b"a\nb\nc")
    assert next(read) == [b"a", b"b"]
    threading.Timer(0.05, os.write, (sink, b"d\n")).start()
    assert next(read) == [b"cd"]
    os.write(sink, b"e")
    os.close(sink)
    assert list(read) == [[b"e"]]
    os.close(source)


def test_a_source_that_does_not_block() -> None:
    """Another program may have made the terminal or the socket non-blocking: it is waited for, and no fault."""
    source, sink = os.pipe()
    os.set_blocking(source, False)
    read = bursts(source, 1 << 20)
    threading.Timer(0.05, os.write, (sink, b"a\n")).start()
    assert next(read) == [b"a"]
    os.close(sink)
    assert list(read) == []
    os.close(source)


def test_a_large_input_is_cut_into_bursts() -> None:
    """A burst ends near the limit, and no line is lost there."""
    source, sink = os.pipe()
    lines = [b"%05d" % number for number in range(5_000)]
    writing = threading.Thread(target=lambda: (os.write(sink, b"\n".join(lines)), os.close(sink)))
    writing.start()
    read = list(bursts(source, 10_000))
    writing.join()
    os.close(source)
    assert [line for burst in read for line in burst] == lines


def test_a_folder_is_no_input(tmp_path: Path) -> None:
    """As in `lagoon kafka produce orders < FOLDER`."""
    descriptor = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(ConfigError, match="the input cannot be read: Is a directory"):
        next(bursts(descriptor, 1 << 20))
    os.close(descriptor)
