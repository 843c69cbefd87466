"""Verbs of `lagoon admin` about delegation tokens.

Brokers refuse these requests on listeners without authentication, and on connections that were authenticated by a token.
The secret of a new token is printed once. It cannot be read again, and it is not recorded.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from kafka_lagoon.admin.delegation_tokens import BROKERS_LIMIT, NOW, NewToken
from kafka_lagoon.apply.action import Action, Guard, State
from kafka_lagoon.apply.kinds.tokens import create_token, expire_token, parse_principal, read_tokens, renew_token
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.arguments import number_from
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.permissions import Requirement
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.client.failures import Failure, Scope, own_failure

_MISSING = "there is no such token, or we may not see it"


def _declare_creation(parser: ArgumentParser) -> None:
    parser.add_argument("--owner", metavar="User:NAME", help="principal that the token authenticates; default: our own")
    parser.add_argument(
        "--renewer",
        action="append",
        default=[],
        metavar="User:NAME",
        help="principal that may renew it besides the owner; may be given several times",
    )
    parser.add_argument(
        "--max-lifetime-ms",
        type=number_from(1),
        default=BROKERS_LIMIT,
        metavar="MS",
        help="longest lifetime, including renewals; default: the brokers' limit",
    )


def _check_creation(options: Namespace) -> list[str]:
    problems = []
    for option, text in [("--owner", options.owner), *(("--renewer", one) for one in options.renewer)]:
        try:
            if text is not None:
                parse_principal(text)
        except ValueError as error:
            problems.append(f"{option}: {error}")
    return problems


def _plan_creation(context: ClusterContext) -> PlannedActions:
    options = context.options
    wanted = NewToken(
        owner=parse_principal(options.owner) if options.owner else None,
        renewers=tuple(map(parse_principal, options.renewer)),
        max_lifetime_ms=options.max_lifetime_ms,
    )
    return PlannedActions(actions=[create_token(wanted)])


def _declare_tokens(parser: ArgumentParser) -> None:
    parser.add_argument("tokens", nargs="+", metavar="TOKEN_ID", help="ids of tokens that you own or may renew")


def _declare_renewal(parser: ArgumentParser) -> None:
    _declare_tokens(parser)
    parser.add_argument(
        "--period-ms",
        type=number_from(1),
        default=BROKERS_LIMIT,
        metavar="MS",
        help="time from now until it expires; default: the brokers' limit",
    )


def _declare_expiry(parser: ArgumentParser) -> None:
    _declare_tokens(parser)
    parser.add_argument(
        "--after-ms",
        type=number_from(1),
        default=NOW,
        metavar="MS",
        help="time from now until it expires; default: expire at once",
    )


def _plan_renewal(context: ClusterContext) -> PlannedActions:
    return _plan(context, lambda token_id, before: renew_token(token_id, before, context.options.period_ms))


def _plan_expiry(context: ClusterContext) -> PlannedActions:
    return _plan(context, lambda token_id, before: expire_token(token_id, before, context.options.after_ms))


def _plan(context: ClusterContext, action_of: Callable[[str, State], Action]) -> PlannedActions:
    states = read_tokens(context.cluster, context.deadline)
    if isinstance(states, Failure):
        return PlannedActions(failures=[states])
    wanted = list(dict.fromkeys(context.options.tokens))
    missing = [
        own_failure("DescribeDelegationToken", Scope.list(f"delegation token {one}"), "NOT_LISTED", _MISSING)
        for one in wanted
        if one not in states
    ]
    return PlannedActions(actions=[action_of(one, states[one]) for one in wanted if one in states], failures=missing)


CREATE = Command(
    kind=altering(),
    summary="Creates a delegation token, and prints its id and its secret once.",
    examples=("lagoon admin create-token -b kafka-1:9092 --renewer User:ops --max-lifetime-ms 86400000",),
    declare=_declare_creation,
    check=_check_creation,
    answer=_plan_creation,
    requires={"": Requirement(remark="With --owner CREATE_TOKENS on User, for that user.")},
)
RENEW = Command(
    kind=altering(),
    summary="Extends the lifetime of delegation tokens.",
    examples=("lagoon admin renew-token TOKEN_ID -b kafka-1:9092",),
    declare=_declare_renewal,
    answer=_plan_renewal,
    requires={"": Requirement(remark="Only the owner of a token and its renewers may do it.")},
)
EXPIRE = Command(
    kind=altering(Guard.DELETIONS),
    summary="Makes delegation tokens expire, at once or later.",
    examples=("lagoon admin expire-token TOKEN_ID -b kafka-1:9092 --allow-deletions",),
    declare=_declare_expiry,
    answer=_plan_expiry,
    requires={"": Requirement(remark="Only the owner of a token and its renewers may do it.")},
)
