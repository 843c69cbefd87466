"""Where what stands in the arrays that Python and the kernels share.

Guards one rule: both sides name a number by the same constant. A table has a line of `COLUMNS` int64 for each batch. A run is
an array of int64 that a decoder hands from call to call: what it wants, where it goes, how far it came.
"""

# The columns of the table of batches. Positions are in the buffer; START and END are addresses of plain records.
(POSITION, SIZE, BASE, LAST, EPOCH, MAGIC, CRC, ATTRIBUTES, BASE_TIME, MAX_TIME) = range(10)
(PRODUCER, PRODUCER_EPOCH, COUNT, START, END) = range(10, 15)
(DISPOSITION, FAULT, ROWS, IS_ABORTED, FROM, TO, MARKER) = range(15, 22)
COLUMNS = 22

# What becomes of a batch. The header of an UNTRUSTED one may lie about where it ends.
DECODE, CONTROL, ABORTED, CORRUPT, UNTRUSTED, LEGACY = range(6)

# What is wrong with a batch.
(NO_FAULT, BAD_HEADER, BAD_MAGIC, BAD_CHECKSUM, BAD_COUNT, BAD_RECORD, BAD_ORDER, BAD_END, BAD_CONTROL) = range(9)
BAD_LAST, TOO_MANY_HEADERS = 9, 10

# The attributes of a batch.
CODEC_BITS, APPEND_TIME_BIT, TRANSACTION_BIT, CONTROL_BIT = 0x07, 0x08, 0x10, 0x20

# A run: where it is and may go, what it came to, ...
(NEXT_OFFSET, TO_OFFSET, LINES, ROOM_BYTES, ROOM_ROWS) = range(5)
(RECORDS, CONTROLS, ABORTEDS, COMPACTEDS, CORRUPTS, DECODED_BYTES, CODECS, FAULTS) = range(5, 13)
# ... how far its buffers are filled, ...
(FILLED_ROWS, FILLED_BYTES, KEY_BYTES, VALUE_BYTES, HEADERS, HEADER_KEY_BYTES, HEADER_VALUE_BYTES) = range(13, 20)
NULL_TIMES, NULL_KEYS, NULL_VALUES, SPELLED = range(20, 24)
# ... and their addresses, 0 for what is not wanted. Bits say what is not null.
(OFFSETS, TIMES, TIME_BITS, TIMES_MS, KEY_ENDS, KEYS, KEY_BITS, VALUE_ENDS, VALUES, VALUE_BITS) = range(24, 34)
(HEADER_ENDS, HEADER_KEY_ENDS, HEADER_KEYS, HEADER_VALUE_ENDS, HEADER_VALUES, HEADER_VALUE_BITS) = range(34, 40)
SPELLED_ROWS = 40  # pairs of row and offset of records with header keys that are not UTF-8
MOST_HEADERS = 41  # of one record
RUN_SIZE = 42

NO_TIME = -1
YEAR_1_MS, YEAR_10000_MS = -62_135_596_800_000, 253_402_300_800_000
BATCH_HEADER_SIZE, MIN_RECORD_SIZE = 61, 7
CURRENT_MAGIC = 2
