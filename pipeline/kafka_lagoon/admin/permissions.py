"""Describes a permission that a request needs: the operation for an ACL, and the effect of lacking it."""

from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.acls import OPERATIONS, RESOURCE_TYPES


@frozen(kw_only=False)
class Permission:
    """An operation on all resources of a type that are to be seen, both by number, and the effect of lacking it."""

    operation: int
    resource_type: int
    without: str

    def __str__(self) -> str:
        """The permission for people: DESCRIBE on Topic."""
        words = RESOURCE_TYPES[self.resource_type].split("_")
        return f"{OPERATIONS[self.operation]} on {''.join(word.title() for word in words)}"
