"""Declares the rows of table admin_actions: every alteration of a cluster that this package attempts, and its outcome."""

from kafka_lagoon.row_classes import ALWAYS, Int32, Timestamp, column, row

_UNFINISHED = "event = 'started'"


@row
class AdminActionRow:
    """Alterations of clusters: one row before an action is sent, and one with its outcome.

    An action without a second row belongs to a run that died: whether it was carried out is not known.
    """

    action_id: str = column("The action (UUIDv7); its two rows have the same.")
    run_id: str = column("The run that it belongs to (UUIDv7); ids sort by time.")
    job: str = column("apply, admin or restore.")
    plan_id: str = column("The plan that it belongs to, as `lagoon plan` prints it.")
    cluster: str = column("Name of the cluster in the configuration.")
    cluster_id: str = column("Kafka's own id of the cluster.")
    event: str = column("started: about to be sent; finished: its outcome is known.")
    at_ms: Timestamp = column("When this row was written.")
    kind: str = column("What it does: create_topic, alter_configs, ...")
    resource_type: str = column("Type of the resource: topic, partition, group, acl, ...")
    resource_name: str = column("Name of the resource within its type.")
    before: str | None = column("What the cluster had, as JSON; null if the resource did not exist.", null_if=ALWAYS)
    after: str | None = column(
        "What was asked for, as JSON; null if it is removed. Secrets are left out.", null_if=ALWAYS
    )
    guards: tuple[str, ...] = column("Options without which it is refused.")
    outcome: str | None = column(
        "done; failed: refused, or nothing changed; unknown: sent, and neither an answer nor the live state tells.",
        null_if=_UNFINISHED,
    )
    error_code: Int32 | None = column("Kafka's error code; null if no broker gave one.", null_if=ALWAYS)
    error_name: str | None = column(
        "Name of the error; null if there is none. An action without an answer may be done, as the live state shows.",
        null_if="outcome IS NULL OR outcome = 'done'",
    )
    message: str | None = column("What the broker said, or we; null if there is nothing to say.", null_if=ALWAYS)
    source: str | None = column("File and line that asked for it; null if a command line did.", null_if=ALWAYS)
    user: str = column("Who ran it: the name that the operating system gives.")
    host: str = column("Where it ran.")
    principal: str | None = column(
        "The user of SASL; null if a certificate, a token or nothing tells it.", null_if=ALWAYS
    )
    software_version: str = column("Version of this package.")
