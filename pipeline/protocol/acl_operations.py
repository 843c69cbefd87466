"""Authorized operations: the bit field that brokers put into answers, and what its bits mean (KIP-430).

Guards one rule: a field that was not asked for says nothing, and nothing is not "no right".
"""

NOT_ASKED = -(2**31)  # also the answer of versions that lack the field

READ = 3
WRITE = 4
CREATE = 5
DELETE = 6
ALTER = 7
DESCRIBE = 8
CLUSTER_ACTION = 9
DESCRIBE_CONFIGS = 10
ALTER_CONFIGS = 11
IDEMPOTENT_WRITE = 12
CREATE_TOKENS = 13
DESCRIBE_TOKENS = 14
TWO_PHASE_COMMIT = 15


def allows(operations: int, operation: int) -> bool | None:
    """Whether the bit of `operation` is set in `operations`; None when the broker was not asked."""
    return None if operations == NOT_ASKED else bool(operations >> operation & 1)
