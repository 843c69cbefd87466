"""Permissions as they are written for people."""

import pytest

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.protocol.acls import DESCRIBE, DESCRIBE_CONFIGS, TOPIC, TRANSACTIONAL_ID


@pytest.mark.parametrize(
    ("operation", "resource_type", "text"),
    [
        (DESCRIBE, TOPIC, "DESCRIBE on Topic"),
        (DESCRIBE_CONFIGS, TOPIC, "DESCRIBE_CONFIGS on Topic"),
        (DESCRIBE, TRANSACTIONAL_ID, "DESCRIBE on TransactionalId"),
    ],
)
def test_a_permission_is_written_as_kafka_writes_it(operation: int, resource_type: int, text: str) -> None:
    """Operations in capitals, as kafka-acls prints them; resource types as one word."""
    assert str(Permission(operation, resource_type, "refused")) == text
