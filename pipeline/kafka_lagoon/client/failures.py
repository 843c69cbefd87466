"""Describes requests that failed: their subject (`Scope`), and the reason (`Failure`).

Failures are made by `failure_of`, from an error code or from an exception, and by `own_failure`, where we find the fault
ourselves; nowhere else.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from kafka_lagoon.errors import (
    AddressRefused,
    AuthenticationFailed,
    ConnectionFailed,
    ConnectionLost,
    DeadlinePassed,
    PipelineError,
    Throttled,
    UnsupportedVersion,
)
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import error_code
from kafka_lagoon.wire.schema import Api

UNSUPPORTED = "UNSUPPORTED_VERSION"
# Names of errors without a broker's code; a class is before those that it extends.
_NAMES: tuple[tuple[type[PipelineError], str], ...] = (
    (UnsupportedVersion, UNSUPPORTED),
    (Throttled, "THROTTLED"),
    (DeadlinePassed, "DEADLINE_PASSED"),
    (ConnectionLost, "CONNECTION_LOST"),
    (AddressRefused, "ADDRESS_REFUSED"),
    (AuthenticationFailed, "AUTHENTICATION_FAILED"),
    (ConnectionFailed, "CONNECTION_FAILED"),
)


class ScopeType(StrEnum):
    """Kinds of subjects of requests."""

    CLUSTER = "cluster"
    BROKER = "broker"
    TOPIC = "topic"
    PARTITION = "partition"
    GROUP = "group"
    MEMBER = "member"
    GROUP_PARTITION = "group_partition"
    TRANSACTION = "transaction"
    CONFIG = "config"
    LOG_DIR = "log_dir"
    LIST = "list"
    LINE = "line"


@frozen
class Scope:
    """The subject of a request. The fields that its type does not have are None.

    `name` is a list (`all topics`), a resource with configs, or offsets of a partition. `items` counts the subjects of a
    request where it does not name them: the configs of 200 topics.
    """

    scope_type: ScopeType
    broker_id: int | None = None
    topic: str | None = None
    partition: int | None = None
    group_id: str | None = None
    member_id: str | None = None
    transactional_id: str | None = None
    log_dir: str | None = None
    name: str | None = None
    line: int | None = None
    items: int = 1

    @classmethod
    def cluster(cls) -> "Scope":
        """The cluster as a whole."""
        return cls(scope_type=ScopeType.CLUSTER)

    @classmethod
    def broker(cls, broker_id: int) -> "Scope":
        """One broker."""
        return cls(scope_type=ScopeType.BROKER, broker_id=broker_id)

    @classmethod
    def of_topic(cls, topic: str | None) -> "Scope":
        """One topic."""
        return cls(scope_type=ScopeType.TOPIC, topic=topic)

    @classmethod
    def topics(cls, items: int) -> "Scope":
        """Topics of one request."""
        return cls(scope_type=ScopeType.TOPIC, items=items)

    @classmethod
    def of_partition(cls, topic: str, partition: int, offsets: str | None = None) -> "Scope":
        """One partition, or some of its offsets."""
        return cls(scope_type=ScopeType.PARTITION, topic=topic, partition=partition, name=offsets)

    @classmethod
    def group(cls, group_id: str) -> "Scope":
        """One group."""
        return cls(scope_type=ScopeType.GROUP, group_id=group_id)

    @classmethod
    def group_partition(cls, group_id: str, topic: str | None, partition: int) -> "Scope":
        """The offset that a group stores for a partition."""
        return cls(scope_type=ScopeType.GROUP_PARTITION, group_id=group_id, topic=topic, partition=partition)

    @classmethod
    def transaction(cls, transactional_id: str) -> "Scope":
        """One transactional id."""
        return cls(scope_type=ScopeType.TRANSACTION, transactional_id=transactional_id)

    @classmethod
    def of_log_dir(cls, broker_id: int, log_dir: str) -> "Scope":
        """One log directory of a broker."""
        return cls(scope_type=ScopeType.LOG_DIR, broker_id=broker_id, log_dir=log_dir)

    @classmethod
    def config(cls, name: str, items: int = 1) -> "Scope":
        """The configs of a resource that is neither a topic nor a group nor a broker, or of several resources."""
        return cls(scope_type=ScopeType.CONFIG, name=name, items=items)

    @classmethod
    def list(cls, name: str) -> "Scope":
        """A list as a whole: `all topics`."""
        return cls(scope_type=ScopeType.LIST, name=name)

    @classmethod
    def of_line(cls, line: int) -> "Scope":
        """A line of the input, from 1."""
        return cls(scope_type=ScopeType.LINE, line=line)

    def __str__(self) -> str:
        """The scope for people: `orders-0`, `broker 1`, `group billing, orders-0`, `all topics`."""
        if self.items > 1 and self.name is None:
            return f"{self.items} {self.scope_type}s"
        topic = self.topic if self.partition is None else f"{self.topic}-{self.partition}"
        parts = (
            ("broker ", self.broker_id),
            ("group ", self.group_id),
            ("member ", self.member_id),
            ("topic " if self.partition is None else "", topic),
            ("transaction ", self.transactional_id),
            ("", self.log_dir),
            ("line ", self.line),
        )
        named = ", ".join(f"{kind}{value}" for kind, value in parts if value is not None)
        return " ".join(filter(None, (named, self.name))) or self.scope_type


@frozen
class Failure:
    """A request that failed for one subject, and the reason; `code` is None where no broker gave one.

    `may_be_done`: at least one request may have been carried out although no answer said so. `is_required`: it is a failure
    also if brokers do not offer the API, because all supported releases have it.
    """

    api: str
    node_id: int | None
    scope: Scope
    code: int | None
    name: str
    attempts: int
    elapsed_ms: int
    message: str | None
    may_be_done: bool = False
    is_required: bool = False

    @property
    def is_too_old(self) -> bool:
        """True if no request was sent, as brokers offer no wanted version of the API; with a code, a broker answered so."""
        return self.name == UNSUPPORTED and self.code is None


def failure_of(
    api: Api[Any, Any],
    scope: Scope,
    refusal: PipelineError | int,
    *,
    node_id: int | None = None,
    attempts: int = 1,
    elapsed_ms: int = 0,
    may_be_done: bool = False,
    explanation: str | None = None,
) -> Failure:
    """Make a failure of a broker's error code, perhaps with its message, or of the exception that prevented an answer."""
    return Failure(
        api=api.name,
        node_id=node_id,
        scope=scope,
        code=_code(refusal),
        name=refusal_name(refusal),
        attempts=attempts,
        elapsed_ms=elapsed_ms,
        message=(explanation or None) if isinstance(refusal, int) else _message(refusal),
        may_be_done=may_be_done,
    )


def own_failure(api: Api[Any, Any] | str, scope: Scope, name: str, message: str | None = None) -> Failure:
    """Make a failure that no broker reported: an item is not listed, or cannot be read or written."""
    return Failure(
        api=api if isinstance(api, str) else api.name,
        node_id=None,
        scope=scope,
        code=None,
        name=name,
        attempts=1,
        elapsed_ms=0,
        message=message,
    )


def refusal_name(refusal: PipelineError | int) -> str:
    """Kafka's name of an error code, or our name where no broker gave a code; column `problem` holds these names."""
    code = _code(refusal)
    if code is not None:
        return error_code(code).name
    return next((name for kind, name in _NAMES if isinstance(refusal, kind)), "PROTOCOL_ERROR")


def errors_by_group(failures: Iterable[Failure]) -> dict[str, str]:
    """The error of each group for which nothing could be read; failures of its partitions are left out."""
    return {
        failure.scope.group_id: failure.name
        for failure in failures
        if failure.scope.scope_type is ScopeType.GROUP and failure.scope.group_id is not None
    }


def _code(refusal: PipelineError | int) -> int | None:
    return refusal if isinstance(refusal, int) else getattr(refusal, "code", None)


def _message(refusal: PipelineError) -> str:
    return refusal.reason() if isinstance(refusal, UnsupportedVersion) else str(refusal)
