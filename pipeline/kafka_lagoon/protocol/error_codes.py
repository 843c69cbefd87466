"""Lists every error code of Kafka up to 4.4: its name, whether to retry, and what to look up before.

A code that is not listed keeps its number. Codes inside responses are data; their callers decide what they mean.

`retriable` is Kafka's own decision (RetriableException), with two exceptions: BROKER_NOT_AVAILABLE, a broker that has not
announced itself to the others yet, is retried; ELECTION_NOT_NEEDED is not, for there is nothing left to do.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class Refresh(enum.Enum):
    """What to look up again before the request is retried."""

    NOTHING = "nothing"
    METADATA = "metadata"
    COORDINATOR = "coordinator"


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """An error code of brokers, and what to do about it."""

    code: int
    name: str
    retriable: bool
    refresh: Refresh


# Those that our code names.
UNKNOWN_SERVER_ERROR = -1
OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
LEADER_NOT_AVAILABLE = 5
NOT_LEADER_OR_FOLLOWER = 6
REQUEST_TIMED_OUT = 7
BROKER_NOT_AVAILABLE = 8
COORDINATOR_NOT_AVAILABLE = 15
NOT_COORDINATOR = 16
INVALID_TOPIC_EXCEPTION = 17
NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
ILLEGAL_GENERATION = 22
UNKNOWN_MEMBER_ID = 25
REBALANCE_IN_PROGRESS = 27
CLUSTER_AUTHORIZATION_FAILED = 31
UNSUPPORTED_VERSION = 35
NOT_CONTROLLER = 41
OUT_OF_ORDER_SEQUENCE_NUMBER = 45
DUPLICATE_SEQUENCE_NUMBER = 46
INVALID_PRODUCER_EPOCH = 47
INVALID_TXN_STATE = 48
INVALID_PRODUCER_ID_MAPPING = 49
INVALID_TRANSACTION_TIMEOUT = 50
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
SECURITY_DISABLED = 54
OPERATION_NOT_ATTEMPTED = 55
LOG_DIR_NOT_FOUND = 57
UNKNOWN_PRODUCER_ID = 59
DELEGATION_TOKEN_AUTH_DISABLED = 61
DELEGATION_TOKEN_NOT_FOUND = 62
DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
NON_EMPTY_GROUP = 68
GROUP_ID_NOT_FOUND = 69
FENCED_LEADER_EPOCH = 74
GROUP_SUBSCRIBED_TO_TOPIC = 86
UNSTABLE_OFFSET_COMMIT = 88
PRODUCER_FENCED = 90
UNKNOWN_TOPIC_ID = 100
INCONSISTENT_TOPIC_ID = 103
TRANSACTIONAL_ID_NOT_FOUND = 105
STALE_MEMBER_EPOCH = 113
TRANSACTION_ABORTABLE = 120


def _final(code: int, name: str) -> ErrorCode:
    return ErrorCode(code, name, retriable=False, refresh=Refresh.NOTHING)


def _again(code: int, name: str, refresh: Refresh = Refresh.NOTHING) -> ErrorCode:
    return ErrorCode(code, name, retriable=True, refresh=refresh)


# UNKNOWN_LEADER_EPOCH is retried at the same broker without a refresh: the broker's metadata is older than ours.
ERROR_CODES: Mapping[int, ErrorCode] = {
    one.code: one
    for one in (
        _final(UNKNOWN_SERVER_ERROR, "UNKNOWN_SERVER_ERROR"),
        _final(0, "NONE"),
        _final(OFFSET_OUT_OF_RANGE, "OFFSET_OUT_OF_RANGE"),
        _again(2, "CORRUPT_MESSAGE"),
        _again(UNKNOWN_TOPIC_OR_PARTITION, "UNKNOWN_TOPIC_OR_PARTITION", Refresh.METADATA),
        _final(4, "INVALID_FETCH_SIZE"),
        _again(LEADER_NOT_AVAILABLE, "LEADER_NOT_AVAILABLE", Refresh.METADATA),
        _again(NOT_LEADER_OR_FOLLOWER, "NOT_LEADER_OR_FOLLOWER", Refresh.METADATA),
        _again(REQUEST_TIMED_OUT, "REQUEST_TIMED_OUT"),
        _again(BROKER_NOT_AVAILABLE, "BROKER_NOT_AVAILABLE", Refresh.METADATA),
        _again(9, "REPLICA_NOT_AVAILABLE", Refresh.METADATA),
        _final(10, "MESSAGE_TOO_LARGE"),
        _final(11, "STALE_CONTROLLER_EPOCH"),
        _final(12, "OFFSET_METADATA_TOO_LARGE"),
        _again(13, "NETWORK_EXCEPTION", Refresh.METADATA),
        _again(14, "COORDINATOR_LOAD_IN_PROGRESS"),
        _again(COORDINATOR_NOT_AVAILABLE, "COORDINATOR_NOT_AVAILABLE", Refresh.COORDINATOR),
        _again(NOT_COORDINATOR, "NOT_COORDINATOR", Refresh.COORDINATOR),
        _final(INVALID_TOPIC_EXCEPTION, "INVALID_TOPIC_EXCEPTION"),
        _final(18, "RECORD_LIST_TOO_LARGE"),
        _again(19, "NOT_ENOUGH_REPLICAS"),
        _again(NOT_ENOUGH_REPLICAS_AFTER_APPEND, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
        _final(21, "INVALID_REQUIRED_ACKS"),
        _final(ILLEGAL_GENERATION, "ILLEGAL_GENERATION"),
        _final(23, "INCONSISTENT_GROUP_PROTOCOL"),
        _final(24, "INVALID_GROUP_ID"),
        _final(UNKNOWN_MEMBER_ID, "UNKNOWN_MEMBER_ID"),
        _final(26, "INVALID_SESSION_TIMEOUT"),
        _final(REBALANCE_IN_PROGRESS, "REBALANCE_IN_PROGRESS"),
        _final(28, "INVALID_COMMIT_OFFSET_SIZE"),
        _final(29, "TOPIC_AUTHORIZATION_FAILED"),
        _final(30, "GROUP_AUTHORIZATION_FAILED"),
        _final(CLUSTER_AUTHORIZATION_FAILED, "CLUSTER_AUTHORIZATION_FAILED"),
        _final(32, "INVALID_TIMESTAMP"),
        _final(33, "UNSUPPORTED_SASL_MECHANISM"),
        _final(34, "ILLEGAL_SASL_STATE"),
        _final(UNSUPPORTED_VERSION, "UNSUPPORTED_VERSION"),
        _final(36, "TOPIC_ALREADY_EXISTS"),
        _final(37, "INVALID_PARTITIONS"),
        _final(38, "INVALID_REPLICATION_FACTOR"),
        _final(39, "INVALID_REPLICA_ASSIGNMENT"),
        _final(40, "INVALID_CONFIG"),
        _again(NOT_CONTROLLER, "NOT_CONTROLLER", Refresh.METADATA),
        _final(42, "INVALID_REQUEST"),
        _final(43, "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
        _final(44, "POLICY_VIOLATION"),
        _final(OUT_OF_ORDER_SEQUENCE_NUMBER, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        _final(DUPLICATE_SEQUENCE_NUMBER, "DUPLICATE_SEQUENCE_NUMBER"),
        _final(INVALID_PRODUCER_EPOCH, "INVALID_PRODUCER_EPOCH"),
        _final(INVALID_TXN_STATE, "INVALID_TXN_STATE"),
        _final(INVALID_PRODUCER_ID_MAPPING, "INVALID_PRODUCER_ID_MAPPING"),
        _final(INVALID_TRANSACTION_TIMEOUT, "INVALID_TRANSACTION_TIMEOUT"),
        _again(51, "CONCURRENT_TRANSACTIONS"),
        _final(52, "TRANSACTION_COORDINATOR_FENCED"),
        _final(TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        _final(SECURITY_DISABLED, "SECURITY_DISABLED"),
        _final(OPERATION_NOT_ATTEMPTED, "OPERATION_NOT_ATTEMPTED"),
        _again(56, "KAFKA_STORAGE_ERROR", Refresh.METADATA),
        _final(LOG_DIR_NOT_FOUND, "LOG_DIR_NOT_FOUND"),
        _final(58, "SASL_AUTHENTICATION_FAILED"),
        _final(UNKNOWN_PRODUCER_ID, "UNKNOWN_PRODUCER_ID"),
        _final(60, "REASSIGNMENT_IN_PROGRESS"),
        _final(DELEGATION_TOKEN_AUTH_DISABLED, "DELEGATION_TOKEN_AUTH_DISABLED"),
        _final(DELEGATION_TOKEN_NOT_FOUND, "DELEGATION_TOKEN_NOT_FOUND"),
        _final(63, "DELEGATION_TOKEN_OWNER_MISMATCH"),
        _final(DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"),
        _final(65, "DELEGATION_TOKEN_AUTHORIZATION_FAILED"),
        _final(66, "DELEGATION_TOKEN_EXPIRED"),
        _final(67, "INVALID_PRINCIPAL_TYPE"),
        _final(NON_EMPTY_GROUP, "NON_EMPTY_GROUP"),
        _final(GROUP_ID_NOT_FOUND, "GROUP_ID_NOT_FOUND"),
        _again(70, "FETCH_SESSION_ID_NOT_FOUND"),
        _again(71, "INVALID_FETCH_SESSION_EPOCH"),
        _again(72, "LISTENER_NOT_FOUND", Refresh.METADATA),
        _final(73, "TOPIC_DELETION_DISABLED"),
        _again(FENCED_LEADER_EPOCH, "FENCED_LEADER_EPOCH", Refresh.METADATA),
        _again(75, "UNKNOWN_LEADER_EPOCH"),
        _final(76, "UNSUPPORTED_COMPRESSION_TYPE"),
        _final(77, "STALE_BROKER_EPOCH"),
        _again(78, "OFFSET_NOT_AVAILABLE"),
        _final(79, "MEMBER_ID_REQUIRED"),
        _again(80, "PREFERRED_LEADER_NOT_AVAILABLE", Refresh.METADATA),
        _final(81, "GROUP_MAX_SIZE_REACHED"),
        _final(82, "FENCED_INSTANCE_ID"),
        _again(83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", Refresh.METADATA),
        _final(84, "ELECTION_NOT_NEEDED"),
        _final(85, "NO_REASSIGNMENT_IN_PROGRESS"),
        _final(GROUP_SUBSCRIBED_TO_TOPIC, "GROUP_SUBSCRIBED_TO_TOPIC"),
        _final(87, "INVALID_RECORD"),
        _again(UNSTABLE_OFFSET_COMMIT, "UNSTABLE_OFFSET_COMMIT"),
        _again(89, "THROTTLING_QUOTA_EXCEEDED"),
        _final(PRODUCER_FENCED, "PRODUCER_FENCED"),
        _final(91, "RESOURCE_NOT_FOUND"),
        _final(92, "DUPLICATE_RESOURCE"),
        _final(93, "UNACCEPTABLE_CREDENTIAL"),
        _final(94, "INCONSISTENT_VOTER_SET"),
        _final(95, "INVALID_UPDATE_VERSION"),
        _final(96, "FEATURE_UPDATE_FAILED"),
        _final(97, "PRINCIPAL_DESERIALIZATION_FAILURE"),
        _final(98, "SNAPSHOT_NOT_FOUND"),
        _final(99, "POSITION_OUT_OF_RANGE"),
        _again(UNKNOWN_TOPIC_ID, "UNKNOWN_TOPIC_ID", Refresh.METADATA),
        _final(101, "DUPLICATE_BROKER_REGISTRATION"),
        _final(102, "BROKER_ID_NOT_REGISTERED"),
        _again(INCONSISTENT_TOPIC_ID, "INCONSISTENT_TOPIC_ID", Refresh.METADATA),
        _final(104, "INCONSISTENT_CLUSTER_ID"),
        _final(TRANSACTIONAL_ID_NOT_FOUND, "TRANSACTIONAL_ID_NOT_FOUND"),
        _again(106, "FETCH_SESSION_TOPIC_ID_ERROR"),
        _final(107, "INELIGIBLE_REPLICA"),
        _final(108, "NEW_LEADER_ELECTED"),
        _final(109, "OFFSET_MOVED_TO_TIERED_STORAGE"),
        _final(110, "FENCED_MEMBER_EPOCH"),
        _final(111, "UNRELEASED_INSTANCE_ID"),
        _final(112, "UNSUPPORTED_ASSIGNOR"),
        _final(STALE_MEMBER_EPOCH, "STALE_MEMBER_EPOCH"),
        _final(114, "MISMATCHED_ENDPOINT_TYPE"),
        _final(115, "UNSUPPORTED_ENDPOINT_TYPE"),
        _final(116, "UNKNOWN_CONTROLLER_ID"),
        _final(117, "UNKNOWN_SUBSCRIPTION_ID"),
        _final(118, "TELEMETRY_TOO_LARGE"),
        _final(119, "INVALID_REGISTRATION"),
        _final(TRANSACTION_ABORTABLE, "TRANSACTION_ABORTABLE"),
        _final(121, "INVALID_RECORD_STATE"),
        _again(122, "SHARE_SESSION_NOT_FOUND"),
        _again(123, "INVALID_SHARE_SESSION_EPOCH"),
        _final(124, "FENCED_STATE_EPOCH"),
        _final(125, "INVALID_VOTER_KEY"),
        _final(126, "DUPLICATE_VOTER"),
        _final(127, "VOTER_NOT_FOUND"),
        _final(128, "INVALID_REGULAR_EXPRESSION"),
        _final(129, "REBOOTSTRAP_REQUIRED"),
        _final(130, "STREAMS_INVALID_TOPOLOGY"),
        _final(131, "STREAMS_INVALID_TOPOLOGY_EPOCH"),
        _final(132, "STREAMS_TOPOLOGY_FENCED"),
        _again(133, "SHARE_SESSION_LIMIT_REACHED"),
        _final(134, "GROUP_DELETION_FAILED"),
        _final(135, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED"),
        _final(136, "CONTROLLER_ID_NOT_REGISTERED"),
    )
}


def error_code(code: int) -> ErrorCode:
    """The meaning of a code; a number that we do not know is UNKNOWN_CODE_n and final."""
    return ERROR_CODES.get(code) or _final(code, f"UNKNOWN_CODE_{code}")
