"""Codecs: output of each library and stream format, refusals, and limits of memory."""

import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.errors import CorruptBatch, RecordsError, UnsupportedCodec
from kafka_lagoon.records.codecs import GZIP, LZ4, SNAPPY, ZSTD, TargetTooSmall, decompress_into

PLAIN = bytes(range(256)) * 900 + b"Kafka" * 5000  # several blocks of every codec


def gzip(plain: bytes) -> bytes:
    return zlib.compress(plain, 6, 31)


def raw_snappy(plain: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(plain))


def xerial(*blocks: bytes) -> bytes:
    lengths_and_blocks = b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + lengths_and_blocks


def java_snappy(plain: bytes) -> bytes:
    return xerial(*(raw_snappy(plain[at : at + 32768]) for at in range(0, len(plain), 32768)))


def java_lz4(plain: bytes, **options: bool) -> bytes:
    return lz4.frame.compress(plain, **{"block_linked": False, "store_size": False, "block_size": 4, **options})


def zstd(plain: bytes) -> bytes:
    """Compress as Java does: the frame does not contain the size of its content."""
    stream = zstandard.ZstdCompressor().compressobj()
    return stream.compress(plain) + stream.flush()


def zstd_with_size(plain: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(plain)


def skippable(content: bytes) -> bytes:
    return struct.pack("<II", 0x184D2A53, len(content)) + content


FORMS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (GZIP, gzip),
    "gzip of two members": (GZIP, lambda plain: gzip(plain[:7]) + gzip(plain[7:])),
    "snappy": (SNAPPY, raw_snappy),
    "xerial": (SNAPPY, java_snappy),
    "two xerial streams": (SNAPPY, lambda plain: java_snappy(plain[:7]) + java_snappy(plain[7:])),
    "lz4": (LZ4, java_lz4),
    "lz4 with checksums and size": (
        LZ4,
        lambda plain: java_lz4(plain, content_checksum=True, block_checksum=True, store_size=True),
    ),
    "lz4 with linked blocks": (LZ4, lambda plain: java_lz4(plain, block_linked=True)),
    "zstd": (ZSTD, zstd),
    "zstd with its size": (ZSTD, zstd_with_size),
    "zstd of several frames": (
        ZSTD,
        lambda plain: zstd(plain[:7]) + skippable(b"skipped") + zstd_with_size(plain[7:]),
    ),
}
EVERY_FORM = pytest.mark.parametrize("form", FORMS)


def decompress(codec: int, source: bytes, room: int, *, magic: int = 2) -> bytes:
    """Decompress into a target with a byte after it, which must not change."""
    memory = bytearray(b"\xaa" * (room + 1))
    written = decompress_into(codec, memoryview(source), memoryview(memory)[:room], magic=magic)
    assert memory[room] == 0xAA
    return bytes(memory[:written])


@EVERY_FORM
@given(plain=st.binary(max_size=300) | st.sampled_from([PLAIN, bytes(100_000)]), spare=st.sampled_from([0, 1, 99_999]))
def test_every_form_gives_back_what_went_in(form: str, plain: bytes, spare: int):
    """Bytes are decompressed as they were compressed, into a target that fits exactly and into larger ones."""
    codec, compress = FORMS[form]
    if plain or spare:
        assert decompress(codec, compress(plain), len(plain) + spare) == plain


@EVERY_FORM
@pytest.mark.parametrize("plain", [b"ab", PLAIN], ids=["small", "large"])
def test_a_target_too_small_is_no_bad_data(form: str, plain: bytes):
    """A target that is too small, even by a byte, raises TargetTooSmall, with a size that is never larger than needed."""
    codec, compress = FORMS[form]
    for room in (len(plain) - 1, len(plain) // 2, 0):
        with pytest.raises(TargetTooSmall) as small:
            decompress(codec, compress(plain), room)
        assert room < small.value.at_least <= len(plain)


@EVERY_FORM
def test_a_cut_stream_is_refused_or_ends_early(form: str):
    """Cut streams are refused, except between blocks, members and frames; no cut adds or changes a byte."""
    codec, compress = FORMS[form]
    plain = PLAIN[:40_000]
    source = compress(plain)
    whole = 0
    for cut in {*range(40), *range(0, len(source), 1 + len(source) // 400), *range(len(source) - 30, len(source))}:
        try:
            read = decompress(codec, source[: max(cut, 0)], len(plain) + 10)
        except CorruptBatch:
            continue
        whole += 1
        assert plain.startswith(read)
    assert whole < 30


@given(
    form=st.sampled_from(list(FORMS)),
    changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=4),
    cut=st.integers(0, 400),
)
def test_any_bytes_are_refused_or_read(form: str, changes: list[tuple[int, int]], cut: int):
    """Damaged bytes raise one of our own errors, or give bytes that fit into the target."""
    codec, compress = FORMS[form]
    source = bytearray(compress(PLAIN[:300])[: 400 - cut])
    for position, byte in changes:
        source[position % len(source or b"x") : position % len(source or b"x") + 1] = bytes((byte,))
    with suppress(RecordsError, TargetTooSmall):
        assert len(decompress(codec, bytes(source), 1000)) <= 1000


def test_a_codec_that_kafka_does_not_have():
    """Codecs 5 to 7 fit into the attributes but do not exist; 0 means uncompressed, so it is never looked up."""
    for codec in (0, 5, 7):
        with pytest.raises(UnsupportedCodec):
            decompress(codec, b"", 10)


def test_lz4_header_checksum_of_old_writers():
    """KAFKA-3160: in magic 0 the checksum of the frame's header is ignored; later it is checked."""
    broken = bytearray(java_lz4(b"records"))
    broken[6] ^= 0xFF
    assert decompress(LZ4, bytes(broken), 10, magic=0) == b"records"
    for magic in (1, 2):
        with pytest.raises(CorruptBatch, match="header"):
            decompress(LZ4, bytes(broken), 10, magic=magic)


@pytest.mark.parametrize("missing", [1, 4])
def test_lz4_content_checksum_that_is_cut(missing: int):
    """Its value is not looked at, and its bytes must be there, as in Java."""
    framed = java_lz4(b"records", content_checksum=True)
    assert decompress(LZ4, framed, 10) == b"records"
    with pytest.raises(CorruptBatch, match="bad lz4 data: it ends in the middle"):
        decompress(LZ4, framed[:-missing], 10)


def test_lz4_content_checksum_and_size_are_not_looked_at():
    """Kafka's own reader checks neither, so a frame with wrong values is read."""
    framed = bytearray(java_lz4(b"records", content_checksum=True))
    framed[-1] ^= 0xFF
    assert decompress(LZ4, bytes(framed), 10) == b"records"
    sized = bytearray(java_lz4(b"records", store_size=True))
    sized[6] ^= 0xFF
    assert decompress(LZ4, bytes(sized), 10, magic=0) == b"records"


@pytest.mark.parametrize("size", [-1, 0, 1, 10, 2**31 - 1, -(2**31)])
def test_xerial_lengths_are_checked_first(size: int):
    """CVE-2023-34455 and CVE-2023-43642: a length that is not positive, or larger than the remaining bytes, is refused."""
    block = raw_snappy(b"ab")
    source = xerial() + struct.pack(">i", size) + block
    with pytest.raises(CorruptBatch, match="snappy"):
        decompress(SNAPPY, source, 100)


def test_bytes_after_the_end():
    """Bytes after gzip's last member and lz4's first frame are ignored, as in Java; after zstd's they are refused."""
    assert decompress(GZIP, gzip(b"ab") + b"trailing", 10) == b"ab"
    assert decompress(LZ4, java_lz4(b"ab") + b"trailing", 10) == b"ab"
    with pytest.raises(CorruptBatch):
        decompress(ZSTD, zstd(b"ab") + b"trailing", 10)


def test_threads_do_not_share_contexts():
    """Threads that decompress at the same time get their own results."""
    work = [
        (codec, compress(bytes([i]) * 50_000 + PLAIN), bytes([i]) * 50_000 + PLAIN)
        for i in range(4)
        for codec, compress in FORMS.values()
    ]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda item: decompress(item[0], item[1], len(item[2])), work * 5))
    assert results == [plain for _, _, plain in work * 5]


# Runs in a process of its own with limited memory: 1 GiB of zeros in every codec, false sizes, and streams that
# take long for little output. The target has 8 MiB.
_BOMBS = """
import json, resource, struct, time, zlib
import cramjam, lz4.frame
from kafka_lagoon.errors import RecordsError
from kafka_lagoon.records.codecs import TargetTooSmall, decompress_into

MIB = 1 << 20
TARGET_SIZE = 8 * MIB

def zeros_gzip():
    stream = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = stream.compress(bytes(MIB)) + stream.flush(zlib.Z_FULL_FLUSH)
    return head + 1023 * (stream.compress(bytes(MIB)) + stream.flush(zlib.Z_FULL_FLUSH))

def zeros_lz4(**options):
    frame = lz4.frame.compress(bytes(4 * MIB), block_size=7, block_linked=False, store_size=False)
    return frame[:7] + 256 * frame[7:-4] + frame[-4:]

def zstd(descriptor, blocks):
    return b"\\x28\\xb5\\x2f\\xfd" + descriptor + blocks

def run_length(size, last):
    return struct.pack("<I", last | 1 << 1 | size << 3)[:3] + b"\\0"

def varint(number):
    return b"".join(bytes([number >> 7 * i & 127 | (128 if i < 4 else 0)]) for i in range(5))

def xerial(*blocks):
    return b"\\x82SNAPPY\\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)

zeros = 8191 * run_length(131072, 0) + run_length(131072, 1)
empty = struct.pack("<I", 1)[:3]
block = bytes(cramjam.snappy.compress_raw(bytes(MIB)))
member = zlib.compress(b"", 6, 31)
bombs = {
    "gzip": (1, zeros_gzip()),
    "gzip of empty members": (1, member * 50_000),
    "snappy": (2, varint(1 << 30) + bytes(50 * MIB)),
    "snappy that claims 4 GiB": (2, varint((1 << 32) - 1) + b"\\0a"),
    "xerial": (2, xerial(*[block] * 1024)),
    "xerial that claims 4 GiB": (2, xerial(varint((1 << 32) - 1) + b"\\0a")),
    "xerial in xerial": (2, xerial(*[xerial(*[block] * 8)] * 8)),
    "xerial of empty blocks": (2, xerial(*[b"\\0"] * 200_000)),
    "lz4": (3, zeros_lz4()),
    "lz4 that claims 2^50": (3, b"\\x04\\x22\\x4d\\x18\\x68\\x70" + struct.pack("<QB", 1 << 50, 0) + bytes(4)),
    "zstd": (4, zstd(b"\\0\\x58", zeros)),
    "zstd with its size": (4, zstd(b"\\x80\\x58" + struct.pack("<I", 1 << 30), zeros)),
    "zstd in one segment": (4, zstd(b"\\xa0" + struct.pack("<I", 1 << 30), zeros)),
    "zstd with a window of 128 MiB": (4, zstd(b"\\0\\x88", zeros)),
    "zstd with a window of 2^41": (4, zstd(b"\\0\\xf8", zeros)),
    "zstd that claims 2^50": (4, zstd(b"\\xe0" + struct.pack("<Q", 1 << 50), empty)),
    "zstd of empty frames": (4, struct.pack("<II", 0x184D2A50, 0) * 125_000),
}
def resident(name):
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) // 1024

target = memoryview(bytearray(TARGET_SIZE))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 192 * MIB, used + 192 * MIB))
outcomes = {}
for name, (codec, source) in bombs.items():
    open("/proc/self/clear_refs", "w").write("5")  # forget the peak
    before, start = resident("VmRSS"), time.process_time()
    try:
        outcome = decompress_into(codec, memoryview(source), target, magic=0)
    except (RecordsError, TargetTooSmall) as refused:
        outcome = type(refused).__name__
    outcomes[name] = (outcome, resident("VmHWM") - before, time.process_time() - start)  # words: ok, a field of Linux
print(json.dumps(outcomes))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and limits the address space")
def test_bombs_stay_in_their_target():
    """Neither 1 GiB of zeros nor a false size takes more than three times the target, or 3 s of processor time."""
    child = subprocess.run([sys.executable, "-c", _BOMBS], capture_output=True, text=True, timeout=120, check=True)
    outcomes = json.loads(child.stdout)
    assert all(megabytes <= 24 for _, megabytes, _ in outcomes.values()), outcomes
    assert all(seconds < 3 for _, _, seconds in outcomes.values()), outcomes
    large = {"gzip", "snappy", "xerial", "lz4", "zstd", "zstd with its size", "zstd with a window of 128 MiB"}
    assert {name for name, (outcome, _, _) in outcomes.items() if outcome == "TargetTooSmall"} == large, outcomes
    harmless = {"lz4 that claims 2^50", "xerial of empty blocks", "zstd of empty frames"}
    assert {name for name, (outcome, _, _) in outcomes.items() if outcome == 0} == harmless, outcomes
