"""Names the numbers of access control, and reads the bits of operations (KIP-430).

Four APIs use numbers of resources, patterns, operations and permissions, and three responses say as bits what their reader
may do. The resource types are not those of DescribeConfigs. Bits that were not requested say nothing about permissions.
"""

from collections.abc import Mapping

UNKNOWN = 0  # Kafka's clients read an unknown number as this; refused in requests
ANY = 1  # in filters, of any of the four kinds; refused in bindings

TOPIC = 2
GROUP = 3
CLUSTER = 4
TRANSACTIONAL_ID = 5
DELEGATION_TOKEN = 6
USER = 7  # KIP-373: whose delegation tokens are meant

# In filters: everything that applies to the name, which is the same name, the wildcard, and prefixes of it (KIP-290).
MATCH = 2
LITERAL = 3  # the name itself; WILDCARD stands for every name
PREFIXED = 4

ALL = 2  # every operation
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
TWO_PHASE_COMMIT = 15  # KIP-939

DENY = 2  # wins over ALLOW
ALLOW = 3

WILDCARD = "*"  # every name with LITERAL; every host
EVERYBODY = "User:*"  # the principal of ACLs for every user
CLUSTER_NAME = "kafka-cluster"  # the one resource of type CLUSTER

RESOURCE_TYPES: Mapping[int, str] = {
    UNKNOWN: "UNKNOWN",
    ANY: "ANY",
    TOPIC: "TOPIC",
    GROUP: "GROUP",
    CLUSTER: "CLUSTER",
    TRANSACTIONAL_ID: "TRANSACTIONAL_ID",
    DELEGATION_TOKEN: "DELEGATION_TOKEN",
    USER: "USER",
}
PATTERN_TYPES: Mapping[int, str] = {
    UNKNOWN: "UNKNOWN",
    ANY: "ANY",
    MATCH: "MATCH",
    LITERAL: "LITERAL",
    PREFIXED: "PREFIXED",
}
OPERATIONS: Mapping[int, str] = {
    UNKNOWN: "UNKNOWN",
    ANY: "ANY",
    ALL: "ALL",
    READ: "READ",
    WRITE: "WRITE",
    CREATE: "CREATE",
    DELETE: "DELETE",
    ALTER: "ALTER",
    DESCRIBE: "DESCRIBE",
    CLUSTER_ACTION: "CLUSTER_ACTION",
    DESCRIBE_CONFIGS: "DESCRIBE_CONFIGS",
    ALTER_CONFIGS: "ALTER_CONFIGS",
    IDEMPOTENT_WRITE: "IDEMPOTENT_WRITE",
    CREATE_TOKENS: "CREATE_TOKENS",
    DESCRIBE_TOKENS: "DESCRIBE_TOKENS",
    TWO_PHASE_COMMIT: "TWO_PHASE_COMMIT",
}
PERMISSION_TYPES: Mapping[int, str] = {UNKNOWN: "UNKNOWN", ANY: "ANY", DENY: "DENY", ALLOW: "ALLOW"}

# Operations that Kafka's authorizers allow along with another one.
IMPLIED_BY: Mapping[int, frozenset[int]] = {
    DESCRIBE: frozenset({READ, WRITE, DELETE, ALTER}),
    DESCRIBE_CONFIGS: frozenset({ALTER_CONFIGS}),
}

NOT_ASKED = -(2**31)  # also the answer of versions that lack the field


def allows(operations: int, operation: int) -> bool | None:
    """True if the bit of `operation` is set in `operations`; None if the broker was not asked."""
    return None if operations == NOT_ASKED else bool(operations >> operation & 1)


def implying(operation: int) -> frozenset[int]:
    """The operations whose ACLs allow an operation: itself, those that imply it, and ALL."""
    return IMPLIED_BY.get(operation, frozenset()) | {operation, ALL}
