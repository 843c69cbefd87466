"""`lagoon kafka acls`: all ACLs, or those that a filter matches."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from dataclasses import replace

from kafka_lagoon.admin.acls import AclFilter, describe_acls
from kafka_lagoon.cli.arguments import not_empty
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import DESCRIBED_CLUSTER, Requirement
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.error_codes import SECURITY_DISABLED
from kafka_lagoon.protocol.messages.describe_acls import DescribeAclsResponse
from kafka_lagoon.snapshot.acl_rows import acl_rows

_NO_AUTHORIZER = "the brokers have no authorizer: there are no ACLs, and every user may do everything"


def declare_filter(parser: ArgumentParser) -> None:
    """Declare options that select ACLs; `filter_of` makes a filter of them."""
    _add(parser, "--resource-type", acls.RESOURCE_TYPES)
    parser.add_argument(
        "--resource-name",
        type=not_empty,
        metavar="NAME",
        help="only ACLs for this name; with --pattern-type MATCH all that apply to it",
    )
    _add(parser, "--pattern-type", acls.PATTERN_TYPES)
    parser.add_argument(
        "--principal", type=_principal, metavar="User:NAME", help="only ACLs for exactly this principal"
    )
    parser.add_argument("--host", metavar="ADDRESS", help="only ACLs for exactly this address")
    _add(parser, "--operation", acls.OPERATIONS)
    _add(parser, "--permission", acls.PERMISSION_TYPES)


def _add(parser: ArgumentParser, option: str, names: Mapping[int, str]) -> None:
    """Declare an option that takes a name and stores its number. UNKNOWN is refused: brokers close the connection on it."""
    numbers = {name: number for number, name in names.items() if number != acls.UNKNOWN}
    parser.add_argument(option, type=_number(numbers), default=acls.ANY, metavar="WHICH", help=", ".join(numbers))


def _principal(text: str) -> str:
    """Refuse a name without its type, as Kafka's own tools do: no ACL is for it, and the answer would be that there is none."""
    if not text.partition(":")[1]:
        raise ArgumentTypeError(f"{text!r} is not a principal like User:alice")
    return text


def _number(numbers: Mapping[str, int]) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = numbers.get(text.upper().replace("-", "_"))
        if number is None:
            raise ArgumentTypeError(f"{text}: there are {', '.join(numbers)}")
        return number

    return parse


def filter_of(options: Namespace) -> AclFilter:
    """Make the filter of the options; without options it matches all ACLs."""
    return AclFilter(
        resource_type=options.resource_type,
        resource_name=options.resource_name,
        pattern_type=options.pattern_type,
        principal=options.principal,
        host=options.host,
        operation=options.operation,
        permission=options.permission,
    )


def read_acls(context: ClusterContext, acl_filter: AclFilter) -> DescribeAclsResponse | Failure:
    """The ACLs that match; a failure says what it means that the brokers have no authorizer."""
    answer = describe_acls(context.cluster, acl_filter, context.deadline)
    if isinstance(answer, Failure) and answer.code == SECURITY_DISABLED:
        return replace(answer, message=_NO_AUTHORIZER)
    return answer


def _answer(context: ClusterContext) -> CommandOutput:
    answer = read_acls(context, filter_of(context.options))
    columns = ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission")
    if isinstance(answer, Failure):
        return CommandOutput(rows=[], failures=[answer])
    return CommandOutput(rows=[RowSet(kind="acl", rows=acl_rows(answer), columns=columns)])


COMMAND = Command(
    kind=CLUSTER,
    summary="Lists ACLs: operations that principals may or may not perform on resources.",
    examples=(
        "lagoon kafka acls -b kafka-1:9092",
        "lagoon kafka acls -b kafka-1:9092 --principal User:billing --permission DENY",
    ),
    declare=declare_filter,
    answer=_answer,
    requires={"": Requirement(permissions=(DESCRIBED_CLUSTER,))},
)
