"""Names the numbers in the arrays of int64 that Python and the encoder's kernels share.

An address of 0 is a column that is not there: its fields are null. Bits are set for values that are not null; a position of
bits counts from the first row.
"""

# The columns, and the results. Ends are int32, or int64 where WIDE is set (large_binary); texts are read as their bytes.
(KEY_ENDS, KEY_WIDE, KEYS, KEY_BITS, KEY_FIRST_BIT) = range(5)
(VALUE_ENDS, VALUE_WIDE, VALUES, VALUE_BITS, VALUE_FIRST_BIT) = range(5, 10)
(TIMES, TIME_BITS, TIME_FIRST_BIT, DEFAULT_TIME) = range(10, 14)
(HEADER_ENDS, HEADER_WIDE, HEADER_BITS, HEADER_FIRST_BIT) = range(14, 18)
(NAME_ENDS, NAME_WIDE, NAMES) = range(18, 21)
(CONTENT_ENDS, CONTENT_WIDE, CONTENTS, CONTENT_BITS, CONTENT_FIRST_BIT) = range(21, 26)
# The rows to be encoded, as int64; 0 for all in their order.
ROWS = 26
# Of the last batch: bytes of its records, and its first and largest timestamp. Of a record that did not fit: its bytes.
(RECORD_BYTES, FIRST_TIME, MAX_TIME, NEEDED_BYTES) = range(27, 31)
STATE_SIZE = 31

# Another array, for the choice of partitions. GIVEN is the address of an int64 for each row, negative for none, or 0.
(GIVEN, PARTITIONS, STICKY, STICKY_BYTES, PRODUCED_BYTES) = range(5)
CHOICE_SIZE = 5
