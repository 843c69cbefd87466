"""Declares the rows about teams that own topics and groups, and about groups that are stopped on purpose."""

from kafka_lagoon.tables.row_classes import ALWAYS, Timestamp, column, row

TOPIC, GROUP = "topic", "group"


@row
class OwnerRow:
    """Topics and groups that a team owns by the settings [owners], one row per topic or group and snapshot."""

    entity_type: str = column("topic or group.")
    name: str = column("Name of the topic, or group.id of the group.")
    owner: str = column("The team.")
    pattern: str = column("The regular expression in the settings that matched the name first.")


@row
class ExpectedGroupRow:
    """Groups that the settings [expected] name, one row per group and snapshot.

    An entry of the settings that has ended makes no row.
    """

    group_id: str = column("group.id of the group.")
    should_run: bool = column(
        "True if captured_at is within the hours of the group; false if the group is expected to be stopped then."
    )
    hours: str = column("Hours in which the group runs, as in the settings, or paused.")
    until_ms: Timestamp | None = column("Time at which the entry ends; null if it has no end.", null_if=ALWAYS)
    reason: str | None = column("Reason in the settings; null if there is none.", null_if=ALWAYS)
    pattern: str = column("The regular expression in the settings that matched the group.id first.")
