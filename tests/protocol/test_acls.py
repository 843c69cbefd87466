"""The bits of authorized operations."""

import pytest

from kafka_lagoon.protocol.acls import ALTER, CREATE, DESCRIBE, DESCRIBE_CONFIGS, NOT_ASKED, READ, allows


def test_bits() -> None:
    """The number of an operation's bit is its code: 256 is only the permission to describe."""
    assert [operation for operation in range(16) if allows(256, operation)] == [DESCRIBE]


def test_everything_on_a_cluster() -> None:
    """8096 is every operation on a cluster; READ is not among them."""
    assert all(allows(8096, operation) for operation in (CREATE, ALTER, DESCRIBE, DESCRIBE_CONFIGS))
    assert not allows(8096, READ)


@pytest.mark.parametrize("operation", [READ, DESCRIBE])
def test_not_asked(operation: int) -> None:
    """Operations that were not requested are unknown, which is not a refusal; no bits at all are one."""
    assert allows(NOT_ASKED, operation) is None
    assert allows(0, operation) is False
