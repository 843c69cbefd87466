"""Names the numbers in the two arrays of int64 that Python and the kernels share.

The table of batches has an entry of `COLUMNS` numbers for each batch of a buffer, in the order of the buffer. The decoder's
state has `STATE_SIZE` numbers that are kept from call to call: the range that is wanted, the counts, how far the Arrow
buffers are filled, and where these are.
"""

# Columns of the table of batches. POSITION is in the buffer; RECORDS_START and RECORDS_END are addresses of plain records.
(POSITION, SIZE, BASE_OFFSET, LAST_OFFSET, LEADER_EPOCH, MAGIC, CRC, ATTRIBUTES, BASE_TIMESTAMP, MAX_TIMESTAMP) = range(
    10
)
(PRODUCER_ID, PRODUCER_EPOCH, COUNT, RECORDS_START, RECORDS_END) = range(10, 15)
# The result: ROWS are the records that were decoded; the offsets from COUNTED_FROM up to COUNTED_TO are accounted for.
(DISPOSITION, FAULT, ROWS, IS_ABORTED, COUNTED_FROM, COUNTED_TO, MARKER) = range(15, 22)
COLUMNS = 22

# Dispositions of a batch. The header of an UNTRUSTED one may be wrong about where the batch ends. Of a COUNTED one only the
# header is wanted: its records are neither decompressed nor read.
DECODE, CONTROL, ABORTED, CORRUPT, UNTRUSTED, LEGACY, COUNTED = range(7)

# Faults of a batch.
(NO_FAULT, BAD_HEADER, BAD_MAGIC, BAD_CHECKSUM, BAD_COUNT, BAD_RECORD, BAD_ORDER, BAD_END, BAD_CONTROL) = range(9)
BAD_LAST, TOO_MANY_HEADERS = 9, 10

# Attributes of a batch.
CODEC_BITS, APPEND_TIME_BIT, TRANSACTION_BIT, CONTROL_BIT = 0x07, 0x08, 0x10, 0x20

# The decoder's state: the range that is left, the number of batches in the table, the capacity of the buffers, ...
(NEXT_OFFSET, TO_OFFSET, BATCHES, CAPACITY_BYTES, CAPACITY_ROWS) = range(5)
# ... offsets by disposition, bytes, codecs (a bit each) and batches with a fault, ...
(RECORD_COUNT, CONTROL_COUNT, ABORTED_COUNT, COMPACTED_COUNT, CORRUPT_COUNT) = range(5, 10)
(DECODED_BYTES, CODECS, FAULT_COUNT) = range(10, 13)
# ... how far the buffers are filled, ...
(FILLED_ROWS, FILLED_BYTES, KEY_BYTES, VALUE_BYTES, HEADERS, HEADER_KEY_BYTES, HEADER_VALUE_BYTES) = range(13, 20)
NULL_TIMESTAMPS, NULL_KEYS, NULL_VALUES, ESCAPED = range(20, 24)
# ... and their addresses, 0 for a column that is not wanted. Bits are set for values that are not null.
(OFFSETS, TIMESTAMPS, TIMESTAMP_BITS, TIMESTAMPS_MS, KEY_ENDS, KEYS, KEY_BITS, VALUE_ENDS, VALUES, VALUE_BITS) = range(
    24, 34
)
(HEADER_ENDS, HEADER_KEY_ENDS, HEADER_KEYS, HEADER_VALUE_ENDS, HEADER_VALUES, HEADER_VALUE_BITS) = range(34, 40)
ESCAPED_ROWS = 40  # pairs of row and offset of records with header keys that are not UTF-8
MOST_HEADERS = 41  # of one record
STATE_SIZE = 42

NO_TIME = -1
YEAR_1_MS, YEAR_10000_MS = -62_135_596_800_000, 253_402_300_800_000
BATCH_HEADER_SIZE, MIN_RECORD_SIZE = 61, 7
CURRENT_MAGIC = 2

# The state of the kernel that hashes records: number of records, where the hashes go, what is hashed, the times, ...
HASH_ROWS, HASH_TARGET, HASH_WHAT, HASH_TIMES = range(4)
# ... and columns of bytes or lists, of which each has: its offsets, bytes of an offset (4 or 8), its bytes, and its validity
# bits (0: no nulls) from the first one that counts. Offsets of 0 stand for a column that is not hashed.
HASH_ENDS, HASH_WIDTH, HASH_BYTES, HASH_BITS, HASH_FIRST_BIT = range(5)
HASH_KEYS, HASH_VALUES, HASH_LISTS, HASH_HEADER_KEYS, HASH_HEADER_VALUES = 4, 9, 14, 19, 24
HASH_STATE_SIZE = 29
HASH_TIMESTAMP, HASH_KEY, HASH_VALUE, HASH_HEADERS = 1, 2, 4, 8  # the fields that are hashed
DIGEST_PRIME = (1 << 61) - 1
DIGEST_FACTORS = (1_414_213_562_373_095_048, 1_732_050_807_568_877_293)  # any two below it would do
