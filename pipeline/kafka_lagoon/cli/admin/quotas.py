"""The verb of `lagoon admin` about quotas."""

from argparse import ArgumentParser, Namespace

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.admin.quotas import describe_client_quotas
from kafka_lagoon.apply.kinds.names import DEFAULT, quota_entity
from kafka_lagoon.apply.kinds.quotas import alter_quotas, quotas_of
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.arguments import names
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.permissions import Requirement
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_client_quotas import CLIENT_ID, IP, USER, QuotaEntity

_PARTS = {USER: "user", CLIENT_ID: "client_id", IP: "ip"}


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "limits",
        nargs="*",
        metavar="KEY=VALUE",
        help="producer_byte_rate, consumer_byte_rate (bytes per second and broker), request_percentage, "
        "controller_mutation_rate; with --ip connection_creation_rate",
    )
    parser.add_argument(
        "--user", metavar="NAME", help=f"name of a user; {DEFAULT}: every user without quotas of its own"
    )
    parser.add_argument(
        "--client-id", metavar="NAME", help=f"client.id of clients, or {DEFAULT}; with --user the clients of that user"
    )
    parser.add_argument(
        "--ip", metavar="ADDRESS", help=f"address of clients, or {DEFAULT}; without --user and --client-id"
    )
    parser.add_argument("--remove", type=names, default=[], metavar="A,B", help="quotas to remove")


def _check(options: Namespace) -> list[str]:
    problems = []
    try:
        _entity(options)
    except ValueError as error:
        problems.append(f"--user, --client-id, --ip: {error}")
    for text in options.limits:
        try:
            _limit(text)
        except ValueError as error:
            problems.append(str(error))
    if not options.limits and not options.remove:
        problems.append("give at least one KEY=VALUE, or --remove")
    keys = [text.partition("=")[0] for text in options.limits] + options.remove
    problems += [f"{key} is given twice" for key in sorted({key for key in keys if keys.count(key) > 1})]
    return problems


def _entity(options: Namespace) -> QuotaEntity:
    given = {kind: getattr(options, name) for kind, name in _PARTS.items()}
    return quota_entity({kind: None if name == DEFAULT else name for kind, name in given.items() if name is not None})


def _limit(text: str) -> tuple[str, float]:
    """Parse a key and its limit; brokers validate both again."""
    key, separator, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not key or not separator or not 0 < number < float("inf"):
        raise ValueError(f"{text!r} is not KEY=VALUE with a value above 0; --remove {key or 'KEY'} removes a limit")
    return key, number


def _plan(context: ClusterContext) -> PlannedActions:
    options = context.options
    described = describe_client_quotas(context.cluster, context.deadline)
    if isinstance(described, Failure):
        return PlannedActions(failures=[described])
    about = _entity(options)
    wanted: dict[str, float | None] = {**dict(map(_limit, options.limits)), **dict.fromkeys(options.remove)}
    action = alter_quotas(about, quotas_of(described).get(about, {}), wanted)
    return PlannedActions(actions=[action] if action else ())


COMMAND = Command(
    kind=altering(),
    summary="Sets or removes the quotas of a user, a client or an address.",
    examples=(
        "lagoon admin alter-quotas -b kafka-1:9092 --user billing consumer_byte_rate=1048576",
        "lagoon admin alter-quotas -b kafka-1:9092 --client-id '<default>' --remove request_percentage",
    ),
    declare=_declare,
    check=_check,
    answer=_plan,
    requires={"": Requirement(permissions=(Permission(acls.ALTER_CONFIGS, acls.CLUSTER, "refused"),))},
)
