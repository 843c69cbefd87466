"""`lagoon permissions`: the ACLs that commands need, as commands of kafka-acls.sh or as desired state for `lagoon plan`.

Nothing is asked of a cluster and nothing is altered: whoever may create ACLs runs what is printed.
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_lagoon.admin.acl_commands import Grant, grants
from kafka_lagoon.apply.desired.writing import toml_text, yaml_text
from kafka_lagoon.apply.kinds.tokens import parse_principal
from kafka_lagoon.cli.arguments import names
from kafka_lagoon.cli.command import PLAIN, Command, Invocation
from kafka_lagoon.cli.permissions import OF_THE_FILE, Requirement
from kafka_lagoon.cli.pipes import write, write_utf8
from kafka_lagoon.cli.terminal import COMPLETE
from kafka_lagoon.protocol import acls
from kafka_lagoon.text import printable

KAFKA_ACLS, TOML, YAML = FORMATS = ("kafka-acls", "toml", "yaml")
_SECURED = "# On a secured cluster add --command-config FILE: the properties of a user who may create ACLs."
_FOR_GROUP_CONFIGS = "# From Kafka 4.0 on, where groups have configs; kafka-acls.sh of older releases refuses it:"
_EPILOG = """\
On a secured cluster kafka-acls.sh needs --command-config FILE, and a name that ends in * is a prefix.
docs/permissions.md says what happens without each permission.
"""


def _principal(text: str) -> str:
    try:
        parse_principal(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    return text


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="commands",
        type=names,
        required=True,
        metavar="COMMAND,...",
        help="commands as in docs/permissions.md: snapshot, ingest, 'kafka lag', ...",
    )
    parser.add_argument(
        "--principal", type=_principal, required=True, metavar="User:NAME", help="the user that runs them"
    )
    for option, meaning in (("topics", "topics"), ("groups", "groups"), ("transactional-ids", "transactional ids")):
        parser.add_argument(
            f"--{option}", type=names, metavar="A,B-*", help=f"names and prefixes of {meaning}; default: all"
        )
    parser.add_argument(
        "-b",
        "--bootstrap-servers",
        default="HOST:PORT",
        metavar="HOST:PORT,...",
        help="brokers that kafka-acls.sh asks",
    )
    parser.add_argument(
        "--command-config", metavar="FILE", help="properties of a user who may create ACLs, for kafka-acls.sh"
    )
    parser.add_argument("--format", choices=FORMATS, default=KAFKA_ACLS, help=f"default: {KAFKA_ACLS}")
    parser.add_argument(
        "--cluster-id",
        metavar="ID",
        help="id of the cluster that a desired state is for; `lagoon kafka metadata` shows it",
    )


def _check(options: Namespace) -> Iterator[str]:
    if options.format != KAFKA_ACLS and not options.cluster_id:
        yield f"--format {options.format}: a desired state is for one cluster: give --cluster-id"


def _print(call: Invocation) -> int:
    from kafka_lagoon.cli.required_permissions import required_for  # noqa: PLC0415  0.2 s: of all tables

    options, required = call.options, required_for(call.options.commands)
    permissions = [one for requirement in required.values() for one in requirement.permissions]
    named = {
        acls.TOPIC: options.topics,
        acls.GROUP: options.groups,
        acls.TRANSACTIONAL_ID: options.transactional_ids,
    }
    granted = grants(options.principal, permissions, {kind: given for kind, given in named.items() if given})
    notes = [f"For {options.principal}: {', '.join(required)}.", *_remarks(required)]
    if options.format == KAFKA_ACLS:
        lines = [*(f"# {printable(note)}" for note in notes), *_commands(granted, options)]
        write(f"{line}\n" for line in (lines if options.command_config or not granted else [*lines, _SECURED]))
    else:
        state: Mapping[str, Any] = {
            "cluster_id": options.cluster_id,
            "acls": [_entry(grant, name) for grant in granted for name in grant.names],
        }
        write_utf8()  # as TOML demands, and as files are read
        write([(toml_text if options.format == TOML else yaml_text)(state, notes)])
    return COMPLETE


def _remarks(required: Mapping[str, Requirement]) -> Iterator[str]:
    for name, requirement in required.items():
        if not requirement.permissions and requirement.otherwise != OF_THE_FILE:
            yield f"{name} needs no permission."
        if requirement.remark:
            yield f"{name}: {requirement.remark}"


def _commands(granted: Sequence[Grant], options: Namespace) -> Iterator[str]:
    config = ("--command-config", options.command_config) if options.command_config else ()
    for grant in granted:
        if grant.is_about_group_configs:
            yield _FOR_GROUP_CONFIGS
        yield printable(grant.command("--bootstrap-server", options.bootstrap_servers, *config))


def _entry(grant: Grant, name: str) -> dict[str, Any]:
    """The entry of a desired state for a resource; docs/administration.md has its defaults."""
    kind = acls.RESOURCE_TYPES[grant.resource_type]
    entry: dict[str, Any] = {
        "principal": grant.principal,
        "operations": [acls.OPERATIONS[operation] for operation in grant.operations],
        "resource_type": kind,
        "resource_name": name,
    }
    if grant.pattern_type == acls.PREFIXED:
        entry["pattern_type"] = acls.PATTERN_TYPES[acls.PREFIXED]
    return entry


COMMAND = Command(
    kind=PLAIN,
    summary="Prints the ACLs that commands need, as commands of kafka-acls.sh or as a file of desired state.",
    epilog=_EPILOG,
    examples=(
        "lagoon permissions --for snapshot,ingest --principal User:lagoon -b kafka-1:9092",
        "lagoon permissions --for ingest --principal User:lagoon --topics 'orders,payments-*'",
        "lagoon permissions --for 'kafka lag' --principal User:oncall --format toml --cluster-id ID > acls.toml",
    ),
    declare=_declare,
    check=_check,
    answer=_print,
)
