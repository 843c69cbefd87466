"""Hashes records one by one and byte by byte, following the definition of the hash."""

from collections.abc import Sequence

_WORD = (1 << 64) - 1
_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
_PRIME = (1 << 61) - 1
_FACTORS = (1_414_213_562_373_095_048, 1_732_050_807_568_877_293)

Headers = Sequence[tuple[bytes, bytes | None]]


def murmur3(data: bytes) -> tuple[int, int]:
    """MurmurHash3 x64 128 with seed 0, for whole blocks of 16 bytes."""
    low = high = 0
    for start in range(0, len(data), 16):
        first, second = (int.from_bytes(data[position : position + 8], "little") for position in (start, start + 8))
        low ^= _rotated(first * _C1 & _WORD, 31) * _C2 & _WORD
        low = ((_rotated(low, 27) + high) * 5 + 0x52DCE729) & _WORD
        high ^= _rotated(second * _C2 & _WORD, 33) * _C1 & _WORD
        high = ((_rotated(high, 31) + low) * 5 + 0x38495AB5) & _WORD
    low, high = low ^ len(data), high ^ len(data)
    low = (low + high) & _WORD
    high = (high + low) & _WORD
    low, high = _spread(low), _spread(high)
    low = (low + high) & _WORD
    return low, (high + low) & _WORD


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _WORD


def _spread(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & _WORD
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & _WORD
    return word ^ word >> 33


def canonical(
    timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers, *, what: int = 0b1111
) -> bytes:
    """Return the bytes whose hash is the hash of the record; bits of `what`: timestamp, key, value, headers."""
    headers = headers if what & 8 else ()
    data = _words(what + 16 * len(headers), timestamp_ms if what & 1 else 0)
    for ours, theirs in [(key if what & 2 else None, value if what & 4 else None), *headers]:
        data += _words(*(-1 if field is None else len(field) for field in (ours, theirs)))
        data += b"".join((field or b"") + bytes(-len(field or b"") % 16) for field in (ours, theirs))
    return data


def _words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little", signed=True) for number in numbers)


def ordered_digest(hashes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the polynomial of the hashes, for each of their halves."""
    length = len(hashes)
    low, high = (
        sum(pair[half] * pow(_FACTORS[half], length - 1 - index, _PRIME) for index, pair in enumerate(hashes)) % _PRIME
        for half in (0, 1)
    )
    return low, high
