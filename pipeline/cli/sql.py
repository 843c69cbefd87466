"""A statement in, its result as text out: `lagoon sql`."""

from pipeline.cli.arguments import SqlArguments
from pipeline.cli.terminal import COMPLETE, say
from pipeline.tables.session import session
from pipeline.tables.sql import as_json_lines, as_text, list_relations, query
from pipeline.tables.warehouse import find_warehouse


def run(arguments: SqlArguments) -> int:
    """Print the result of the statement, or what tables and views there are."""
    if arguments.statement is None:
        say(list_relations())
        return COMPLETE
    result = query(find_warehouse(session("lagoon sql"), arguments.settings), arguments.statement)
    say(as_json_lines(result) if arguments.as_json else as_text(result))
    return COMPLETE
