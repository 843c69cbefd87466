"""Lines of input are passed on whole and at once."""

import os
import threading

from kafka_lagoon.cli.kafka.input_lines import bursts


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
