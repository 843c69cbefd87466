"""Kernels that hash records in Arrow columns, and that fold hashes into the digest of a sequence.

The hash of a record is MurmurHash3 (x64, 128 bits, seed 0) of words of 64 bits, lowest byte first:

    what is hashed (the bits of layout.HASH_...) + 16 * number of headers, timestamp_ms
    size of the key, size of the value            -1: null, so that null and empty differ
    key, value                                    each filled up with zeros to a multiple of 16 bytes
    for each header: size of its key, size of its value; key, value

A field that is left out counts as 0 headers, timestamp 0, or null. The words are never written anywhere: they are mixed as
they are read, so a record costs no copy. Numbers are int64, which wrap; `>>` keeps the sign, so shifts to the right are masked.

Measured: 18 ns for a record with a key of 10 and a value of 20 bytes, 27 ns with a value of 100; 4 more for a digest.
"""

from kafka_lagoon.records import layout
from kafka_lagoon.records.compiler import inlined, kernel, load8, load32, load64, store64
from kafka_lagoon.records.fields import get, put

_C1, _C2 = -0x783C846EEEBDAC2B, 0x4CF5AD432745937F
_F1, _F2 = -0x00AE502812AA7333, -0x3B314601E57A13AD
_LOW_31, _LOW_32, _LOW_30 = (1 << 31) - 1, (1 << 32) - 1, (1 << 30) - 1
_BLOCK, _WORD, _HALF = 16, 8, 4


@inlined
def _mix(low: int, high: int, first: int, second: int) -> tuple[int, int]:
    """Mix a block of two words into the hash."""
    first *= _C1
    first = (first << 31) | ((first >> 33) & _LOW_31)
    low ^= first * _C2
    low = (low << 27) | ((low >> 37) & 0x7FFFFFF)
    low = (low + high) * 5 + 0x52DCE729
    second *= _C2
    second = (second << 33) | ((second >> 31) & 0x1FFFFFFFF)
    high ^= second * _C1
    high = (high << 31) | ((high >> 33) & _LOW_31)
    high = (high + low) * 5 + 0x38495AB5
    return low, high


@inlined
def _spread(word: int) -> int:
    """Let every bit of a word depend on all the others."""
    word ^= (word >> 33) & _LOW_31
    word *= _F1
    word ^= (word >> 33) & _LOW_31
    word *= _F2
    return word ^ ((word >> 33) & _LOW_31)


@inlined
def _short_word(address: int, size: int) -> int:
    """1 to 7 bytes as a word; nothing outside of them is read."""
    if size >= _HALF:
        first, last = load32(address) & _LOW_32, load32(address + size - 4) & _LOW_32
        return first | (last << ((size - 4) << 3))
    middle, last_at = size >> 1, size - 1
    word = load8(address) | (load8(address + middle) << (middle << 3))
    return word | (load8(address + last_at) << (last_at << 3))


@inlined
def _mix_bytes(low: int, high: int, address: int, size: int) -> tuple[int, int]:
    """Mix some bytes into the hash, filled up with zeros to whole blocks."""
    end = address + size
    while end - address >= _BLOCK:
        low, high = _mix(low, high, load64(address), load64(address + 8))
        address += 16
    rest = end - address
    if rest > _WORD:
        # The last word again, without the bytes that are in the first one.
        unwanted = (_BLOCK - rest) << 3
        last = (load64(end - 8) >> unwanted) & ((1 << (64 - unwanted)) - 1)
        low, high = _mix(low, high, load64(address), last)
    elif rest == _WORD:
        low, high = _mix(low, high, load64(address), 0)
    elif rest > 0:
        low, high = _mix(low, high, _short_word(address, rest), 0)
    return low, high


@inlined
def _end_at(state: int, column: int, index: int) -> int:
    """The begin of an item in a column of bytes or lists, which is the end of the item before it."""
    if get(state, column + layout.HASH_WIDTH) == _WORD:
        return load64(get(state, column + layout.HASH_ENDS) + (index << 3))
    return load32(get(state, column + layout.HASH_ENDS) + (index << 2))


@inlined
def _size_at(state: int, column: int, index: int) -> int:
    """The size of an item, -1 if it is null."""
    bits = get(state, column + layout.HASH_BITS)
    if bits:
        bit = index + get(state, column + layout.HASH_FIRST_BIT)
        if not (load8(bits + (bit >> 3)) >> (bit & 7)) & 1:
            return -1
    return _end_at(state, column, index + 1) - _end_at(state, column, index)


@inlined
def _mix_pair(low: int, high: int, state: int, keys: int, values: int, index: int) -> tuple[int, int, int]:
    """Mix a key and a value into the hash, after their sizes; returns also the number of bytes."""
    key_size = value_size = -1
    if get(state, keys + layout.HASH_ENDS):
        key_size = _size_at(state, keys, index)
    if get(state, values + layout.HASH_ENDS):
        value_size = _size_at(state, values, index)
    low, high = _mix(low, high, key_size, value_size)
    mixed = 16
    if key_size > 0:
        address = get(state, keys + layout.HASH_BYTES) + _end_at(state, keys, index)
        low, high = _mix_bytes(low, high, address, key_size)
        mixed += (key_size + 15) & -16
    if value_size > 0:
        address = get(state, values + layout.HASH_BYTES) + _end_at(state, values, index)
        low, high = _mix_bytes(low, high, address, value_size)
        mixed += (value_size + 15) & -16
    return low, high, mixed


@kernel("int64(int64)")
def hash_records(state: int) -> int:
    """Write the two words of each record's hash; returns the number of records."""
    target, times = get(state, layout.HASH_TARGET), get(state, layout.HASH_TIMES)
    what, lists = get(state, layout.HASH_WHAT), get(state, layout.HASH_LISTS + layout.HASH_ENDS)
    for row in range(get(state, layout.HASH_ROWS)):
        first_header = headers = time = 0
        if lists:
            headers = _size_at(state, layout.HASH_LISTS, row)
            if headers > 0:
                first_header = _end_at(state, layout.HASH_LISTS, row)
            else:
                headers = 0
        if times:
            time = load64(times + (row << 3))
        low, high = _mix(0, 0, what + (headers << 4), time)
        low, high, mixed = _mix_pair(low, high, state, layout.HASH_KEYS, layout.HASH_VALUES, row)
        size = 16 + mixed
        for header in range(first_header, first_header + headers):
            low, high, mixed = _mix_pair(low, high, state, layout.HASH_HEADER_KEYS, layout.HASH_HEADER_VALUES, header)
            size += mixed
        low ^= size
        high ^= size
        low += high
        high += low
        low = _spread(low)
        high = _spread(high)
        low += high
        store64(target + (row << 4), low)
        store64(target + (row << 4) + 8, high + low)
    return get(state, layout.HASH_ROWS)


@inlined
def _folded(number: int) -> int:
    """A number that is not negative, modulo 2^61 - 1, or that and at most 4 more than it: reduced in full at the end."""
    return (number & layout.DIGEST_PRIME) + (number >> 61)


@inlined
def _next(digest: int, factor: int, word: int) -> int:
    """A digest times a factor, plus a word; the product is made of halves, of which no sum leaves int64."""
    high, low, factor_high, factor_low = digest >> 31, digest & _LOW_31, factor >> 31, factor & _LOW_31
    middle = high * factor_low + low * factor_high
    product = ((high * factor_high) << 1) + (middle >> 30) + ((middle & _LOW_30) << 31) + low * factor_low
    return _folded(_folded(product) + (word & layout.DIGEST_PRIME) + ((word >> 61) & 7))


@kernel("int64(int64, int64, int64)")
def fold_hashes(digest: int, hashes: int, count: int) -> int:
    """Continue a digest of four words: a polynomial of each half of the hashes, and their sums; returns their number."""
    first, second, first_sum, second_sum = get(digest, 0), get(digest, 1), get(digest, 2), get(digest, 3)
    for index in range(count):
        low, high = load64(hashes + (index << 4)), load64(hashes + (index << 4) + 8)
        first = _next(first, layout.DIGEST_FACTORS[0], low)
        second = _next(second, layout.DIGEST_FACTORS[1], high)
        first_sum += low
        second_sum += high
    put(digest, 0, first % layout.DIGEST_PRIME)
    put(digest, 1, second % layout.DIGEST_PRIME)
    put(digest, 2, first_sum)
    put(digest, 3, second_sum)
    return count
