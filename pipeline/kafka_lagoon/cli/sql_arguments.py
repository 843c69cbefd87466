"""Parses the command line of `lagoon sql`, and loads the settings that it names."""

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_lagoon.cli.arguments import overrides, parser_of
from kafka_lagoon.cli.engines import ENGINES
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.settings import Settings

TABLE, CSV, JSON, PARQUET = FORMATS = ("table", "csv", "json", "parquet")
_BY_SUFFIX = {".csv": CSV, ".json": JSON, ".jsonl": JSON, ".parquet": PARQUET}
_DESCRIBE = re.compile(r"desc(?:ribe)?\s+(\w+)\s*;?", re.IGNORECASE)

_EPILOG = """\
without a statement:
  lagoon sql                  names the tables and views
  lagoon sql describe TABLE   its columns; needs no tables yet

formats:
  table    for people: aligned by the first 1000 rows, through $PAGER where it is longer than the terminal
  csv      RFC 4180 with a header; null is an empty field, an empty text is ""
  json     an object a line: 64-bit numbers exact, times ISO 8601 in UTC, binary as text or {"base64": ...}
  parquet  a file, which --out names

Times without a zone are UTC. A statement is one query: nothing is written but --out FILE.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlArguments:
    """Settings and options of `lagoon sql`; `engine` None means DuckDB where it can read the tables.

    Without a statement it lists tables and views, or the columns of `described`.
    """

    settings: Settings
    statement: str | None
    described: str | None
    engine: str | None
    format: str
    out: Path | None
    pager: bool


def sql_arguments(argv: Sequence[str], environ: Mapping[str, str]) -> SqlArguments:
    """Arguments of `lagoon sql`; ConfigError lists every fault."""
    args = _parser().parse_args(argv)
    words = " ".join(args.words)
    described = _DESCRIBE.fullmatch(words)
    statement = words if words and not described else None
    problems = list(_faults(args, described is not None))
    try:
        settings = loaded(
            args.conf,
            environ,
            overrides(args),
            args.kafka_properties,
            cluster_needed=False,
            tables_needed=statement is not None,
        )
    except ConfigError as error:
        raise ConfigError([*problems, *error.problems]) from None
    if problems:
        raise ConfigError(problems)
    return SqlArguments(
        settings=settings,
        statement=statement,
        described=described[1] if described else None,
        engine=args.engine,
        format=_format(args),
        out=args.out,
        pager=args.pager,
    )


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("sql", "Run one SQL statement over the tables and views.")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("words", nargs="*", metavar="STATEMENT", help="in quotes; or: describe TABLE")
    parser.add_argument("--engine", choices=ENGINES, help="default: duckdb for a folder of this machine, else spark")
    parser.add_argument("--format", choices=FORMATS, help="default: by the name of --out, else table")
    parser.add_argument("--json", action="store_true", help="short for --format json")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there, whole or not at all")
    parser.add_argument("--no-pager", dest="pager", action="store_false", help="never start $PAGER")
    return parser


def _faults(args: argparse.Namespace, is_describe: bool) -> Sequence[str]:
    faults = []
    if len(args.words) > 1 and not is_describe:
        faults.append("give the statement as one argument, in quotes")
    if args.json and args.format not in (None, JSON):
        faults.append(f"--json and --format {args.format} exclude each other")
    if _format(args) == PARQUET and not args.out:
        faults.append("--format parquet: name the file with --out FILE")
    return faults


def _format(args: argparse.Namespace) -> str:
    by_name = _BY_SUFFIX.get(args.out.suffix.lower(), TABLE) if args.out else TABLE
    return JSON if args.json else args.format or by_name
