"""A statement in, its result as text out: `lagoon sql`."""

from pipeline.cli.arguments import SqlArguments
from pipeline.cli.terminal import COMPLETE, say
from pipeline.tables.session import session
from pipeline.tables.sql import list_relations, run_sql
from pipeline.tables.warehouse import open_warehouse


def run(arguments: SqlArguments) -> int:
    """Print the result of the statement, or the tables and views there are."""
    spark = session("lagoon sql")
    return COMPLETE
