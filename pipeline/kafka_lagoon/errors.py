"""Defines every exception. The branch tells whose fault it is, attributes carry data, `__str__` makes the sentence.

PipelineError
+- ConfigError            settings or arguments; all faults at once, before any I/O (exit 2)
+- WireError              the bytes, or our use of them, are wrong; never retried
|  +- EncodeError         ours: a value that this version cannot carry
|  +- DecodeError         theirs: short, left over, bad length
|  +- FrameTooLarge       a length prefix beyond the limit, or not one of Kafka's
|  +- CorrelationMismatch an answer to another request
|  +- Contradiction       an answer that says two things about one item
+- RecordsError           records that cannot be decoded; the caller knows the offsets
|  +- CorruptBatch        checksum, lengths or compressed data that contradict themselves
|  +- UnsupportedMagic    a message format that is unknown, or not allowed at its place
|  +- UnsupportedCodec    a compression that this message format cannot have
|  +- ExpandedTooLarge    more bytes than a batch may expand to
+- RecordTooLarge         a record that no batch of its topic can carry
+- RowRefused             a row that has no place in the topics that are written to, or that no record can carry
+- ConnectionFailed       an address, and the phase that failed
|  +- ConnectionLost      after the first byte; keeps the first cause
|  +- DeadlinePassed      no answer in time
|  +- AuthenticationFailed
+- ClusterRefused         a cluster id that Kafka does not allow, or another id than before
+- Throttled              an answer without the items, as a quota is exceeded
+- UnsupportedVersion     no version of an API that both sides speak
+- BrokerError            an error code in an answer, with its scope
+- PlanOutdated           the cluster is not as it was when a plan was made; nothing was sent
+- TransactionFailed      a transaction that was not begun, continued or ended
+- OtherAttempt           somebody else writes what a restore writes
+- TargetChanged          what a restore has written is not in its target any more, or something else is
+- SnapshotIncomplete     policy says that a partial snapshot is a failure
+- TableError             NeedsSession, SchemaChanged, SnapshotExists, ChecksFailed, RangesPending
+- LimitReached           the machine or a limit lets this process have no more memory or threads
+- LockHeld               another run writes to the same warehouse (exit 4)
+- SandboxFailed          JarsUnavailable, NotStarted, ToolFailed: our own Kafka on this machine
"""

from collections.abc import Sequence


class PipelineError(Exception):
    """Base of all our errors: context as attributes, the sentence in `__str__`.

    `is_unsent`: the request waited to be sent when a request before it failed, and with it the connection.
    """

    is_unsent = False


class ConfigError(PipelineError):
    """Settings or arguments that cannot work; `problems` lists every fault, one line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(tuple(problems))
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(self.problems)


class WireError(PipelineError):
    """Bytes that do not follow Kafka's encoding, or a value of ours that cannot be encoded."""


class EncodeError(WireError):
    """A value that `message` cannot carry at `version`: null, out of range, or absent in that version."""

    def __init__(self, message: str, version: int, field: str, reason: str) -> None:
        super().__init__(message, version, field, reason)
        self.message, self.version, self.field, self.reason = message, version, field, reason

    def __str__(self) -> str:
        return f"{self.message} v{self.version}: {self.field}: {self.reason}"


class DecodeError(WireError):
    """Bytes that are not the `message` they should be; `position` is where reading stopped, in bytes."""

    def __init__(self, message: str, version: int, position: int, reason: str) -> None:
        super().__init__(message, version, position, reason)
        self.message, self.version, self.position, self.reason = message, version, position, reason

    def __str__(self) -> str:
        return f"{self.message} v{self.version} at byte {self.position}: {self.reason}"


class FrameTooLarge(WireError):
    """A length prefix that is negative, beyond `limit` bytes, or the start of another protocol (`looks_like`)."""

    def __init__(self, size: int, limit: int, looks_like: str | None = None) -> None:
        super().__init__(size, limit, looks_like)
        self.size, self.limit, self.looks_like = size, limit, looks_like

    @property
    def is_beyond_limit(self) -> bool:
        """True if it may be an answer of Kafka that is only too large."""
        return self.size > self.limit and not self.looks_like

    def __str__(self) -> str:
        if self.looks_like:
            return f"the answer is {self.looks_like}, not Kafka"
        return f"the answer claims a frame of {self.size} bytes; frames from 0 to {self.limit} bytes are read"


class CorrelationMismatch(WireError):
    """An answer that carries another correlation id than the oldest open request."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(expected, got)
        self.expected, self.got = expected, got

    def __str__(self) -> str:
        return f"the answer belongs to request {self.got}, not to request {self.expected}"


class Contradiction(WireError):
    """An answer that contradicts itself, for example by an item that it has twice with other contents: it is not believed."""

    def __init__(self, reason: str = "the answer has it twice, and not alike") -> None:
        super().__init__(reason)


class ImpossibleValue(WireError):
    """A number in a response that Kafka never sends."""

    def __init__(self, struct: str, field: str, value: int) -> None:
        super().__init__(struct, field, value)
        self.struct, self.field, self.value = struct, field, value

    def __str__(self) -> str:
        return f"{self.field} of {self.struct} is {self.value}, which Kafka never sends"


class RecordsError(PipelineError):
    """Records that cannot be decoded; `reason` is the word in table record_problems, `detail` the exact fault."""

    def __init__(self, reason: str, detail: str | None = None) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


class CorruptBatch(RecordsError):
    """Bytes that contradict themselves: a checksum, a length, an order, or compressed data that do not unpack."""


class UnsupportedMagic(RecordsError):
    """A message format that Kafka does not have, or that may not stand inside another format."""


class UnsupportedCodec(RecordsError):
    """A compression that Kafka does not have, or not in this message format, or not at this depth."""


class ExpandedTooLarge(RecordsError):
    """A batch that expands to more than the limit; nothing beyond the limit was written."""


class RecordTooLarge(PipelineError):
    """A record that makes a batch too large by itself; `index` counts from 0 in the records to be encoded."""

    def __init__(self, index: int, size: int, limit: int) -> None:
        super().__init__(index, size, limit)
        self.index, self.size, self.limit = index, size, limit
        self.reason = f"a batch of it alone has {size} bytes, more than max.message.bytes, {limit}"

    def __str__(self) -> str:
        return f"record {self.index}: {self.reason}"


class RowRefused(PipelineError):
    """A row that has no place in the topics, or that no record can carry; `row` counts from 0 in the rows given."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(row, reason)
        self.row, self.reason = row, reason

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason}"


class ConnectionFailed(PipelineError):
    """No usable connection to `address`; `phase` is resolve, connect, tls, handshake, authenticate or exchange.

    A request of the phase exchange may have arrived, unless it `is_unsent`. One that waited for its time (`throttled`) has not.

    A caller that knows the cause, or a remedy, may set `hint`.
    """

    hint = ""

    def __init__(self, address: str, phase: str, reason: str) -> None:
        super().__init__(address, phase, reason)
        self.address, self.phase, self.reason = address, phase, reason

    def __str__(self) -> str:
        phase = "not sent" if self.is_unsent else self.phase
        return f"{self.address}: {phase}: {self.reason}{self.hint}"


class ConnectionLost(ConnectionFailed):
    """The peer closed or broke an open connection while `in_flight` requests waited."""

    def __init__(self, address: str, phase: str, reason: str, in_flight: int) -> None:
        super().__init__(address, phase, reason)
        self.args = (address, phase, reason, in_flight)
        self.in_flight = in_flight


class DeadlinePassed(ConnectionFailed):
    """No answer within `budget_ms` milliseconds."""

    def __init__(self, address: str, phase: str, budget_ms: int) -> None:
        super().__init__(address, phase, f"no answer within {budget_ms} ms")
        self.args = (address, phase, budget_ms)
        self.budget_ms = budget_ms


class AddressRefused(ConnectionFailed):
    """An address that a broker advertises and that our settings do not let us connect to; never retried."""


class AuthenticationFailed(ConnectionFailed):
    """The broker refused our credentials; never retried, never shows them."""


class TokenUnavailable(ConnectionFailed):
    """A token endpoint that is out of order or limits requests; another attempt may help."""


class ClusterRefused(PipelineError):
    """An answer of a cluster whose id Kafka does not allow, or of another cluster than before."""


class Throttled(PipelineError):
    """An answer without the requested items, because the broker throttles us for `throttle_ms` (KIP-219)."""

    def __init__(self, node_id: int, throttle_ms: int) -> None:
        super().__init__(node_id, throttle_ms)
        self.node_id, self.throttle_ms = node_id, throttle_ms

    def __str__(self) -> str:
        return f"broker {self.node_id} throttles us for {self.throttle_ms} ms: its last answer was empty"


class UnsupportedVersion(PipelineError):
    """The broker and we share no version of `api`; ranges are (lowest, highest), `theirs` None when it lacks the API.

    `broker` names the broker; `needed` are the releases of Kafka that can answer, None if no release is known.
    """

    def __init__(
        self, api: str, ours: tuple[int, int], theirs: tuple[int, int] | None, broker: str, needed: str | None
    ) -> None:
        super().__init__(api, ours, theirs, broker, needed)
        self.api, self.ours, self.theirs, self.broker, self.needed = api, ours, theirs, broker, needed

    def __str__(self) -> str:
        lacks = f"{self.broker} is older" if self.theirs else f"{self.broker} does not offer it"
        return (
            f"{self.api} {self.reason()}; {lacks}"
            if self._is_too_old()
            else f"{self.api}: {self.broker} {self.reason()}"
        )

    def reason(self) -> str:
        """The versions that are needed, for messages that name API and broker elsewhere."""
        if self._is_too_old():
            return f"needs {self.needed}"
        if self.theirs is None:
            return "does not offer it"
        spoken = f"this release of Kafka Lagoon speaks {self.ours[0]} to {self.ours[1]}"
        return f"offers versions {self.theirs[0]} to {self.theirs[1]}, {spoken}"

    def _is_too_old(self) -> bool:
        return bool(self.needed) and (self.theirs is None or self.theirs[1] < self.ours[0])


class BrokerError(PipelineError):
    """An error code that a broker gave to a whole request; `scope` names the subject of the request."""

    def __init__(self, code: int, name: str, api: str, scope: str, message: str | None = None) -> None:
        super().__init__(code, name, api, scope, message)
        self.code, self.name, self.api, self.scope, self.message = code, name, api, scope, message

    def __str__(self) -> str:
        detail = f" ({self.message})" if self.message else ""
        return f"{self.api} for {self.scope}: {self.name}{detail}"


class OtherAttempt(PipelineError):
    """The broker has records of a restore that this attempt did not write: another attempt may be running."""

    def __init__(self, topic: str, partition: int) -> None:
        super().__init__(topic, partition)
        self.topic, self.partition = topic, partition

    def __str__(self) -> str:
        return (
            f"partition {self.partition} of topic {self.topic} has other records of this restore than are found there: "
            "another attempt is writing, or some were deleted or compacted"
        )


class TargetChanged(PipelineError):
    """A partition that a restore writes to is not as the restore left it, so it cannot go on there."""

    def __init__(self, topic: str, partition: int, reason: str) -> None:
        super().__init__(topic, partition, reason)
        self.topic, self.partition, self.reason = topic, partition, reason

    def __str__(self) -> str:
        return f"partition {self.partition} of topic {self.topic} {self.reason}"


class PlanOutdated(PipelineError):
    """The cluster is not as it was when the plan was made, so nothing was sent; `changes` has a line for each difference."""

    def __init__(self, changes: Sequence[str]) -> None:
        super().__init__(tuple(changes))
        self.changes = tuple(changes)

    def __str__(self) -> str:
        return f"the cluster changed since the plan was made, nothing was sent: {'; '.join(self.changes)}"


class TransactionFailed(PipelineError):
    """A request of a transaction that was refused or not answered; `code` is None where no broker gave one.

    `may_be_done`: the request may have been carried out all the same, so that the end of the transaction is not known.
    """

    def __init__(
        self,
        transactional_id: str,
        api: str,
        name: str,
        code: int | None = None,
        message: str | None = None,
        may_be_done: bool = False,  # noqa: FBT002  as pickle passes it
    ) -> None:
        super().__init__(transactional_id, api, name, code, message, may_be_done)
        self.transactional_id, self.api, self.name, self.code = transactional_id, api, name, code
        self.message, self.may_be_done = message, may_be_done

    def __str__(self) -> str:
        remarks = [self.message] if self.message else []
        if self.may_be_done:
            remarks.append("it may have been carried out all the same")
        detail = f" ({'; '.join(remarks)})" if remarks else ""
        return f"{self.api} for transaction {self.transactional_id}: {self.name}{detail}"


class SnapshotIncomplete(PipelineError):
    """Rows are written, but `failures` requests had no answer and the policy in conf calls that a failure."""

    def __init__(self, failures: int) -> None:
        super().__init__(failures)
        self.failures = failures

    def __str__(self) -> str:
        failures = f"{self.failures} failure{'' if self.failures == 1 else 's'}"
        return f"the snapshot is incomplete: {failures}, see table collection_failures"


class TableError(PipelineError):
    """A Delta table that cannot be read or written as it stands."""


class NeedsSession(TableError):
    """An operation on a table that only a Spark session can do."""


class SchemaChanged(TableError):
    """A table with other columns than ours."""


class SnapshotExists(TableError):
    """The slot is already published."""


class ChecksFailed(TableError):
    """Data that was read back differs from the data that was written."""


class RangesPending(TableError):
    """The records of an ingest are committed, but not all of its ranges and problems: the next run adds the others."""

    def __init__(self, ingest_id: str, reason: str) -> None:
        super().__init__(ingest_id, reason)
        self.ingest_id, self.reason = ingest_id, reason

    def __str__(self) -> str:
        return (
            f"the records of ingest {self.ingest_id} are committed, and the next run adds its missing ranges and problems: "
            f"{self.reason}"
        )


class LimitReached(PipelineError):
    """The machine or a limit lets this process have no more memory, or no further thread."""


class LockHeld(PipelineError):
    """Another run holds the lock at `path`; nothing was written."""

    def __init__(self, path: str, holder: str) -> None:
        super().__init__(path, holder)
        self.path, self.holder = path, holder

    def __str__(self) -> str:
        return f"another run ({self.holder}) holds {self.path}; nothing was written"


class SandboxFailed(PipelineError):
    """The Kafka of our own on this machine lacks something that it needs; `log` is the file with details."""

    def __init__(self, reason: str, log: str | None = None) -> None:
        super().__init__(reason, log)
        self.reason, self.log = reason, log

    def __str__(self) -> str:
        return f"{self.reason} (see {self.log})" if self.log else self.reason


class JarsUnavailable(SandboxFailed):
    """Java is missing, the registry does not answer, or it gave other bytes than the lock file names."""


class NotStarted(SandboxFailed):
    """A broker that ended, or did not answer in time."""


class ToolFailed(SandboxFailed):
    """One of Kafka's command line tools that ended with an error or not at all."""
