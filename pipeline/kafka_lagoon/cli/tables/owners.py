"""Shows owners and expectations of groups where the chosen snapshots have any, and leaves stopped groups out of limits."""

from kafka_lagoon.cli.tables.command import Condition, TablesContext, of_snapshots
from kafka_lagoon.query.statements import tuples

OWNERS, EXPECTED = "owners_published", "expected_groups_published"


def has_rows(context: TablesContext, relation: str) -> bool:
    """Return True if the chosen snapshots have rows there, which they have only if the settings named owners or groups."""
    of = of_snapshots(context.snapshots)
    return bool(tuples(context.ask(f"SELECT 1 FROM {relation} WHERE {of} LIMIT 1", *of.values)))  # noqa: S608  names of ours


def without_stopped(rows: Condition, relation: str) -> Condition:
    """Leave out groups that are expected to be stopped; `rows` are of this table or view."""
    return rows.also(
        f"""NOT EXISTS (
          SELECT 1 FROM {EXPECTED} AS expected
          WHERE NOT expected.should_run AND expected.cluster = {relation}.cluster
            AND expected.snapshot_id = {relation}.snapshot_id AND expected.snapshot_date = {relation}.snapshot_date
            AND expected.group_id = {relation}.group_id
        )"""  # noqa: S608  names of ours
    )


def stopped_groups(context: TablesContext, groups: Condition) -> list[str]:
    """Return the names of the selected groups that are expected to be stopped, with their cluster if there are several."""
    stopped = tuples(
        context.ask(
            f"SELECT cluster, group_id FROM {EXPECTED} WHERE NOT should_run AND {groups} ORDER BY cluster, group_id",  # noqa: S608
            *groups.values,
        )
    )
    is_one_cluster = len(context.snapshots) == 1
    return [name if is_one_cluster else f"{cluster} {name}" for cluster, name in stopped]
