"""Bytes that arrive in any pieces give complete frames."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.errors import FrameTooLarge
from kafka_lagoon.wire.frames import FrameBuffer

LIMIT = 1000


def _prefixed(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def _taken(buffer: FrameBuffer) -> list[bytes]:
    frames = []
    while (frame := buffer.take()) is not None:
        frames.append(frame)
    return frames


@given(st.lists(st.binary(max_size=40), max_size=6), st.data())
def test_any_chopping(frames: list[bytes], data: st.DataObject) -> None:
    """A stream of frames in any pieces gives the same frames, each as soon as it is complete."""
    stream = b"".join(map(_prefixed, frames))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))))
    buffer, taken = FrameBuffer(LIMIT), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        buffer.feed(stream[start:end])
        taken += _taken(buffer)
        whole = [frame for i, frame in enumerate(frames) if len(b"".join(map(_prefixed, frames[: i + 1]))) <= end]
        assert taken == whole
    assert taken == frames


def test_missing() -> None:
    """The number of missing bytes is known: first of the prefix, then of the frame."""
    buffer = FrameBuffer(LIMIT)
    assert buffer.missing() == 4
    buffer.feed(b"\0\0\0")
    assert buffer.missing() == 1
    buffer.feed(b"\x05ab")
    assert (buffer.missing(), buffer.take()) == (3, None)
    buffer.feed(b"cde\0")
    assert (buffer.missing(), buffer.take(), buffer.missing()) == (0, b"abcde", 3)


def test_empty_frame() -> None:
    """A frame without bytes is a frame."""
    buffer = FrameBuffer(LIMIT)
    buffer.feed(bytes(4))
    assert (buffer.take(), buffer.take()) == (b"", None)


def test_kinds_of_bytes() -> None:
    """Frames can be fed from memory that a socket reads into again later."""
    buffer, scratch = FrameBuffer(LIMIT), bytearray(_prefixed(b"ab"))
    buffer.feed(memoryview(scratch)[:3])
    buffer.feed(memoryview(scratch)[3:])
    scratch[:] = bytes(6)
    assert buffer.take() == b"ab"


def _poured(buffer: FrameBuffer, stream: bytes, most: int = 1 << 30) -> list[bytes | memoryview]:
    """Write a stream to the buffer's free space, at most this many bytes at once, as a socket does."""
    frames, start = [], 0
    while start < len(stream):
        with buffer.room() as room:
            count = min(len(room), len(stream) - start, most)
            room[:count] = stream[start : start + count]
        buffer.filled(count)
        start += count
        while (frame := buffer.take()) is not None:
            frames.append(frame)
    return frames


def _large(seed: int, size: int) -> bytes:
    return bytes((seed + i) % 251 for i in range(1000)) * (size // 1000) + bytes([seed])


@given(st.lists(st.sampled_from([0, 5, 65_000, 70_000, 300_000, 1_200_000]), max_size=5), st.integers(1_000, 400_000))
def test_large_and_small_frames(sizes: list[int], most: int) -> None:
    """Frames of all sizes, one after another through the same memory, are unchanged."""
    frames = [_large(seed, size) for seed, size in enumerate(sizes)]
    buffer = FrameBuffer(2_000_000)
    assert _poured(buffer, b"".join(map(_prefixed, frames)), most) == frames


def test_large_frames_stay_where_they_arrived() -> None:
    """A frame keeps its bytes while there is a view of it or of a part; memory without views is reused."""
    buffer = FrameBuffer(2_000_000)
    (first,) = _poured(buffer, _prefixed(_large(1, 500_000)))
    assert isinstance(first, memoryview)
    assert first.readonly
    part, memory = first[1000:2000], first.obj
    del first
    (second,) = _poured(buffer, _prefixed(_large(2, 500_000)))
    assert second.obj is not memory
    assert bytes(part) == _large(1, 500_000)[1000:2000]
    del part
    (third,) = _poured(buffer, _prefixed(_large(3, 400_000)))
    assert third.obj is memory
    assert second == _large(2, 500_000)


def test_memory_that_is_not_kept() -> None:
    """After a frame that needs no memory for the next one, a connection keeps none."""
    buffer = FrameBuffer(2_000_000)
    buffer.keeps_memory = False
    tracemalloc.start()
    assert _poured(buffer, _prefixed(_large(1, 1_500_000))) == [_large(1, 1_500_000)]
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 100_000


def test_memory_is_taken_as_bytes_arrive() -> None:
    """A length within the limit takes only a fraction of its memory until the bytes arrive."""
    buffer = FrameBuffer(1 << 30)
    tracemalloc.start()
    _poured(buffer, (1 << 30).to_bytes(4, "big") + bytes(1000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert buffer.missing() == (1 << 30) - 1000
    assert peak < 1_000_000


@pytest.mark.parametrize("size", [-1, -(2**31), LIMIT + 1, 2**31 - 1])
def test_sizes_beyond_the_limit(size: int) -> None:
    """A size that is negative or beyond the limit is refused before any byte of the frame has arrived."""
    buffer = FrameBuffer(LIMIT)
    buffer.feed(size.to_bytes(4, "big", signed=True))
    with pytest.raises(FrameTooLarge) as caught:
        buffer.take()
    assert (caught.value.size, caught.value.limit, caught.value.looks_like) == (size, LIMIT, None)


def test_the_largest_frame() -> None:
    """A frame of exactly the limit is accepted."""
    buffer = FrameBuffer(LIMIT)
    buffer.feed(_prefixed(bytes(LIMIT)))
    assert buffer.take() == bytes(LIMIT)


@pytest.mark.parametrize(
    ("start", "protocol"),
    [(b"HTTP/1.1 400 Bad Request", "HTTP"), (b"\x15\x03\x01\x00\x02\x02\x46", "TLS"), (b"SSH-2.0-OpenSSH_9", "SSH")],
)
def test_other_protocols(start: bytes, protocol: str) -> None:
    """Another protocol is recognized by its first bytes, and the message names it."""
    buffer = FrameBuffer(100 * 2**20)
    buffer.feed(start)
    with pytest.raises(FrameTooLarge, match=f"the answer is {protocol}, not Kafka") as caught:
        buffer.take()
    assert caught.value.looks_like == protocol
