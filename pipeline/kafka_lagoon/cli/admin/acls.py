"""Verbs of `lagoon admin` about ACLs."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from kafka_lagoon.admin.acls import Acl, AclFilter, acls_of
from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.kinds.acls import CREATABLE, create_acl, delete_acl, has_names
from kafka_lagoon.apply.kinds.tokens import parse_principal
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.arguments import names
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.acls import declare_filter, filter_of, read_acls
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.permissions import ALTERS_CLUSTER
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.protocol import acls

_CLUSTER = acls.RESOURCE_TYPES[acls.CLUSTER]


def _declare_creation(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--principal",
        action="append",
        default=[],
        metavar="User:NAME",
        help="principal of the ACL; may be given several times",
    )
    parser.add_argument("--operation", type=names, default=[], metavar="A,B", help=_list(CREATABLE["operation"]))
    parser.add_argument("--resource-type", default="", metavar="TYPE", help=_list(CREATABLE["resource_type"]))
    parser.add_argument(
        "--resource-name",
        action="append",
        default=[],
        metavar="NAME",
        help="name of the resource; may be given several times",
    )
    parser.add_argument("--pattern-type", default="LITERAL", metavar="TYPE", help=_list(CREATABLE["pattern_type"]))
    parser.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="address that clients connect from; default: * (all)",
    )
    parser.add_argument("--permission", default="ALLOW", metavar="WHICH", help=_list(CREATABLE["permission"]))


def _list(known: Iterable[str]) -> str:
    return ", ".join(known)


def _name(word: str) -> str:
    return word.upper().replace("-", "_")


def _check_creation(options: Namespace) -> list[str]:
    problems = [
        f"--{field.replace('_', '-')}: {word or 'nothing'!r}; there are {_list(CREATABLE[field])}"
        for field, given in _words(options).items()
        for word in given
        if _name(word) not in CREATABLE[field]
    ]
    if not options.principal:
        problems.append("--principal: name the principal of the ACL, e.g. User:alice")
    for principal in options.principal:
        try:
            parse_principal(principal)
        except ValueError as error:
            problems.append(f"--principal: {error}")
    if not options.operation:
        problems.append("--operation: name at least one")
    if not _resource_names(options) or "" in options.resource_name:
        problems.append("--resource-name: name at least one resource; * stands for all")
    if "" in options.host:
        problems.append("--host: '' is no address, so the ACL would apply to no client; * stands for all")
    if _name(options.resource_type) == _CLUSTER and set(_resource_names(options)) != {acls.CLUSTER_NAME}:
        problems.append(f"--resource-name: the cluster is called {acls.CLUSTER_NAME}, and may be left out")
    return problems


def _words(options: Namespace) -> Mapping[str, Sequence[str]]:
    return {
        "resource_type": [options.resource_type],
        "pattern_type": [options.pattern_type],
        "permission": [options.permission],
        "operation": options.operation,
    }


def _resource_names(options: Namespace) -> Sequence[str]:
    is_cluster = _name(options.resource_type) == _CLUSTER
    return options.resource_name or ([acls.CLUSTER_NAME] if is_cluster else [])


def _wanted(options: Namespace) -> list[Acl]:
    """Make an ACL for each combination of principal, operation, resource and host."""
    numbers = {field: [CREATABLE[field][_name(word)] for word in given] for field, given in _words(options).items()}
    return [
        Acl(
            resource_type=numbers["resource_type"][0],
            resource_name=name,
            pattern_type=numbers["pattern_type"][0],
            principal=principal,
            host=host,
            operation=operation,
            permission=numbers["permission"][0],
        )
        for principal, operation, name, host in product(
            options.principal, numbers["operation"], _resource_names(options), options.host or [acls.WILDCARD]
        )
    ]


def _plan_creation(context: ClusterContext) -> PlannedActions:
    listed = _live(context, AclFilter())
    if isinstance(listed, Failure):
        return PlannedActions(failures=[listed])
    live = frozenset(listed)
    wanted = list(dict.fromkeys(_wanted(context.options)))
    existing = [acl for acl in wanted if acl in live]
    notes = [f"{len(existing)} of {len(wanted)} ACLs are there already"] if existing else []
    return PlannedActions(actions=[create_acl(acl) for acl in wanted if acl not in live], notes=notes)


def _live(context: ClusterContext, acl_filter: AclFilter) -> list[Acl] | Failure:
    answer = read_acls(context, acl_filter)
    return answer if isinstance(answer, Failure) else acls_of(answer)


def _declare_deletion(parser: ArgumentParser) -> None:
    declare_filter(parser)
    parser.add_argument("--all", action="store_true", help="delete every ACL of the cluster")


def _check_deletion(options: Namespace) -> list[str]:
    if (filter_of(options) == AclFilter()) != options.all:
        return ["select the ACLs to delete by at least one option, or give --all alone"]
    return []


def _plan_deletion(context: ClusterContext) -> PlannedActions:
    matching = _live(context, filter_of(context.options))
    if isinstance(matching, Failure):
        return PlannedActions(failures=[matching])
    notes = () if matching else ["no ACL matches"]
    nameless = [
        own_failure(
            "DescribeAcls",
            Scope.list(f"ACL of {acl.principal}"),
            "UNKNOWN",
            "it has a type or an operation that this version cannot name",
        )
        for acl in matching
        if not has_names(acl)
    ]
    return PlannedActions(
        actions=[delete_acl(acl) for acl in matching if has_names(acl)], failures=nameless, notes=notes
    )


CREATE = Command(
    kind=altering(),
    summary="Creates an ACL for each combination of principal, operation, resource and host.",
    examples=(
        (
            "lagoon admin create-acl -b kafka-1:9092 --principal User:billing --operation READ,DESCRIBE "
            "--resource-type TOPIC --resource-name orders"
        ),
    ),
    declare=_declare_creation,
    check=_check_creation,
    answer=_plan_creation,
    requires={"": ALTERS_CLUSTER},
)
DELETE = Command(
    kind=altering(Guard.DELETIONS),
    summary="Shows and deletes the ACLs that match all options.",
    examples=(
        "lagoon admin delete-acl -b kafka-1:9092 --principal User:billing --dry-run",
        "lagoon admin delete-acl -b kafka-1:9092 --principal User:billing --resource-type TOPIC --allow-deletions",
    ),
    declare=_declare_deletion,
    check=_check_deletion,
    answer=_plan_deletion,
    requires={"": ALTERS_CLUSTER},
)
