"""Verbs of `lagoon admin` about the passwords of SCRAM users.

A password is given as a reference only (env:NAME, file:PATH), because everybody on the machine can read command lines.
"""

from argparse import ArgumentParser, Namespace

from kafka_lagoon.admin.scram import ScramCredential, describe_scram_users
from kafka_lagoon.apply.action import Guard, State
from kafka_lagoon.apply.kinds.users import MECHANISMS, alter_scram, delete_scram, scram_states
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.arguments import not_empty
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.permissions import ALTERS_CLUSTER
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.protocol.messages.alter_user_scram_credentials import FEWEST_ITERATIONS, MOST_ITERATIONS
from kafka_lagoon.secret import Secret

_REFERENCES = ("env:", "file:")


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("users", nargs="+", type=not_empty, metavar="USER", help="names of users, without User:")
    parser.add_argument("--mechanism", choices=MECHANISMS, default="SCRAM-SHA-512", help="default: %(default)s")


def _declare_password(parser: ArgumentParser) -> None:
    _declare(parser)
    parser.add_argument("--password", metavar="REFERENCE", help="env:NAME or file:PATH; never the password itself")
    parser.add_argument(
        "--iterations",
        type=int,
        default=FEWEST_ITERATIONS,
        metavar="N",
        help=f"iterations of the hash, {FEWEST_ITERATIONS} to {MOST_ITERATIONS}; default: %(default)s",
    )


def _check_password(options: Namespace) -> list[str]:
    problems = []
    if not FEWEST_ITERATIONS <= options.iterations <= MOST_ITERATIONS:
        problems.append(f"--iterations: brokers take {FEWEST_ITERATIONS} to {MOST_ITERATIONS}")
    if options.password is None or not options.password.startswith(_REFERENCES):
        return [*problems, "--password: give env:NAME or file:PATH, where the password is"]
    try:
        Secret(options.password).reveal()
    except ConfigError as error:
        problems += [f"--password: {problem}" for problem in error.problems]
    return problems


def _plan_password(context: ClusterContext) -> PlannedActions:
    options = context.options
    states, failures = _states(context)
    password = Secret(options.password)
    return PlannedActions(
        actions=[alter_scram(one, state, options.iterations, password) for one, state in states.items()],
        failures=failures,
    )


def _plan_deletion(context: ClusterContext) -> PlannedActions:
    states, failures = _states(context)
    failures += [
        own_failure(
            "delete-scram", Scope.list(f"SCRAM user {one.user}"), "NOT_LISTED", "it has no password for this mechanism"
        )
        for one, state in states.items()
        if state is None
    ]
    return PlannedActions(
        actions=[delete_scram(one, state) for one, state in states.items() if state is not None], failures=failures
    )


def _states(context: ClusterContext) -> tuple[dict[ScramCredential, State], list[Failure]]:
    """Read the credentials of the named users; a user that could not be described is a failure."""
    described = describe_scram_users(context.cluster, context.deadline)
    if isinstance(described, Failure):
        return {}, [described]
    mechanism = MECHANISMS[context.options.mechanism]
    credentials = [ScramCredential(user, mechanism) for user in dict.fromkeys(context.options.users)]
    states = scram_states(described, credentials)
    failures = [state for state in states.values() if isinstance(state, Failure)]
    return {one: state for one, state in states.items() if not isinstance(state, Failure)}, failures


ALTER = Command(
    kind=altering(),
    summary="Sets the SCRAM password of users.",
    examples=("lagoon admin alter-scram billing -b kafka-1:9092 --password env:BILLING_PASSWORD",),
    declare=_declare_password,
    check=_check_password,
    answer=_plan_password,
    requires={"": ALTERS_CLUSTER},
)
DELETE = Command(
    kind=altering(Guard.DELETIONS),
    summary="Deletes the SCRAM password of users.",
    examples=("lagoon admin delete-scram billing -b kafka-1:9092 --mechanism SCRAM-SHA-256 --allow-deletions",),
    declare=_declare,
    answer=_plan_deletion,
    requires={"": ALTERS_CLUSTER},
)
