"""The greatest numbers of the integer types that Kafka's messages and the tables have."""

MOST_INT16, MOST_INT32, MOST_INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1
