"""Checks what the principal of our connections may do against what commands need, by what brokers say of it (KIP-430).

A broker returns the operations that it allows on the cluster, on each topic and on each group, and leaves out topics and groups
that we may not describe. It returns none on other resources; doctor/hidden_permissions.py finds DESCRIBE on those.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from kafka_lagoon.admin.acl_commands import grants
from kafka_lagoon.admin.authorized_operations import (
    TopicOperations,
    cluster_operations,
    group_operations,
    has_authorizer,
    topic_operations,
)
from kafka_lagoon.admin.configs import have_group_configs
from kafka_lagoon.admin.groups import CLASSIC, CONSUMER, GroupListings, described_as, list_groups
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.doctor.hidden_permissions import Known, on_delegation_tokens, on_transactional_ids
from kafka_lagoon.doctor.results import Check, Result, run_alone
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.acls import (
    ALTER_CONFIGS,
    CLUSTER,
    DELEGATION_TOKEN,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    WILDCARD,
    allows,
)
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.snapshot.chosen_names import Names

T = TypeVar("T")

_SHOWN_NAMES = 3
_MOST_GROUPS = 1_000  # each is a description with its members
_ALL = Names()
_TOO_OLD = "brokers before 2.3 do not say what they allow"


@frozen
class Needs:
    """The permissions of a command, and the topics and groups that it uses; those in `topics` must exist.

    `goes_without`: it runs without a permission, and leaves out what the permission is for.
    """

    command: str
    permissions: Sequence[Permission]
    chosen_topics: Names = _ALL
    chosen_groups: Names = _ALL
    topics: Sequence[str] = ()
    goes_without: bool = False

    def is_about(self, topic: str) -> bool:
        """True for topics that the command reads or writes: named topics, matching topics, or all if it names none."""
        by_name_only = bool(self.topics) and self.chosen_topics.are_all
        return topic in self.topics or (not by_name_only and topic in self.chosen_topics)


@frozen
class _Allowed:
    """Allowed operations as bits, as brokers return them, and what could not be described, or the error of a request."""

    of_cluster: int | PipelineError
    of_topics: TopicOperations | PipelineError | None
    of_groups: Mapping[str, int]
    refused_groups: Mapping[str, Failure]
    unlisted: Sequence[Failure]  # of brokers that did not list their groups
    groups_left_out: int
    have_group_configs: bool
    # DESCRIBE on all resources of types about which brokers return no operations
    described: Mapping[int, Known | PipelineError]
    principal: str


def permissions(name: str, cluster: Cluster, needs: Sequence[Needs], deadline: Deadline) -> Iterator[Result]:
    """A result for each permission of each command."""
    if not has_authorizer(cluster, deadline):
        yield Check("permissions", name).ok("the brokers have no authorizer: everybody may do everything")
        return
    allowed = _allowed(cluster, needs, deadline)
    for need in needs:
        for permission in need.permissions:
            check = Check("permissions", f"{name}: {need.command}: {permission}")
            yield from run_alone(check, lambda: [_result(check, need, permission, allowed)])  # noqa: B023  called at once


def _allowed(cluster: Cluster, needs: Sequence[Needs], deadline: Deadline) -> _Allowed:
    wants_groups = any(permission.resource_type == GROUP for need in needs for permission in need.permissions)
    listed = list_groups(cluster, deadline) if wants_groups else GroupListings(groups={}, failures=())
    listings = listed.groups
    kinds = {group: listing for group, listing in listings.items() if described_as(listing) in {CLASSIC, CONSUMER}}
    described = dict(sorted(kinds.items())[:_MOST_GROUPS])
    of_groups, refused = group_operations(cluster, described, deadline) if described else ({}, {})
    of_cluster = _attempt(lambda: cluster_operations(cluster, deadline))
    topics = sorted({topic for need in needs for topic in need.topics})
    return _Allowed(
        of_cluster=of_cluster,
        of_topics=_attempt(lambda: topic_operations(cluster, topics, deadline)),
        of_groups=of_groups,
        refused_groups=refused,
        unlisted=listed.failures,
        groups_left_out=len(listings) - len(described),
        have_group_configs=have_group_configs(cluster),
        described=_described(cluster, needs, of_cluster, deadline),
        principal=cluster.settings.principal() or "User:NAME",
    )


def _attempt(ask: Callable[[], T]) -> T | PipelineError:
    """The answer, or the error, which is that of the permissions that need this answer."""
    try:
        return ask()
    except PipelineError as error:
        return error


def _known(answer: T | PipelineError) -> T:
    if isinstance(answer, PipelineError):
        raise answer
    return answer


def _described(
    cluster: Cluster, needs: Sequence[Needs], of_cluster: int | PipelineError, deadline: Deadline
) -> dict[int, Known | PipelineError]:
    """Test DESCRIBE on the needed types of resources whose own operations brokers do not return."""
    needed = {
        permission.resource_type
        for need in needs
        for permission in need.permissions
        if permission.operation == DESCRIBE
    }
    described: dict[int, Known | PipelineError] = {}
    if TRANSACTIONAL_ID in needed:
        described[TRANSACTIONAL_ID] = _attempt(lambda: on_transactional_ids(cluster, deadline))
    if DELEGATION_TOKEN in needed:
        described[DELEGATION_TOKEN] = _attempt(lambda: on_delegation_tokens(cluster, _known(of_cluster), deadline))
    return described


def _result(check: Check, need: Needs, permission: Permission, allowed: _Allowed) -> Result:
    if permission.resource_type == CLUSTER:
        return _of_cluster(check, need, permission, allowed)
    if permission.resource_type == TOPIC:
        return _of_topics(check, need, permission, allowed)
    if permission.resource_type == GROUP:
        return _of_groups(check, need, permission, allowed)
    if permission.operation == DESCRIBE and permission.resource_type in allowed.described:
        is_allowed, observed = _known(allowed.described[permission.resource_type])
        if is_allowed is None:
            return check.not_checked(observed)
        return check.ok(observed) if is_allowed else _missing(check, need, permission, observed, allowed.principal)
    return check.not_checked("brokers do not say what they allow on such resources")


def _of_cluster(check: Check, need: Needs, permission: Permission, allowed: _Allowed) -> Result:
    is_allowed = allows(_known(allowed.of_cluster), permission.operation)
    if is_allowed is None:
        return check.not_checked(_TOO_OLD)
    return check.ok("allowed") if is_allowed else _missing(check, need, permission, "not allowed", allowed.principal)


def _of_topics(check: Check, need: Needs, permission: Permission, allowed: _Allowed) -> Result:
    topics = _known(allowed.of_topics)
    if topics is None:
        return check.not_checked(_TOO_OLD)
    absent = [topic for topic in need.topics if topics.refused.get(topic) == UNKNOWN_TOPIC_OR_PARTITION]
    if absent:
        return check.failed(f"no such topic: {_some(absent)}", f"check the topics of {need.command} in the settings")
    refused = [f"{topic} ({error_code(code).name})" for topic, code in topics.refused.items() if topic in need.topics]
    chosen = {topic: bits for topic, bits in topics.operations.items() if need.is_about(topic)}
    return _of_each(check, need, permission, chosen, refused, "topics", allowed.principal)


def _of_groups(check: Check, need: Needs, permission: Permission, allowed: _Allowed) -> Result:
    if permission.operation in {DESCRIBE_CONFIGS, ALTER_CONFIGS} and not allowed.have_group_configs:
        return check.ok("groups of these brokers have no configs: they came with Kafka 4.0")
    chosen = {group: bits for group, bits in allowed.of_groups.items() if group in need.chosen_groups}
    refused = [
        f"{group} ({failure.name})" for group, failure in allowed.refused_groups.items() if group in need.chosen_groups
    ]
    if allowed.unlisted and not refused:
        reasons = ", ".join(f"{failure.scope} ({failure.name})" for failure in allowed.unlisted)
        return check.not_checked(f"not all groups are known: {reasons}", "lagoon kafka groups")
    return _of_each(check, need, permission, chosen, refused, "groups", allowed.principal, allowed.groups_left_out)


def _of_each(
    check: Check,
    need: Needs,
    permission: Permission,
    chosen: Mapping[str, int],
    refused: Sequence[str],
    kind: str,
    principal: str,
    left_out: int = 0,
) -> Result:
    """The result for all topics or groups, with the first names of those that lack the permission."""
    said = {name: allows(bits, permission.operation) for name, bits in chosen.items()}
    lacking = [*refused, *(name for name, is_allowed in said.items() if is_allowed is False)]
    if lacking:
        names = [name.partition(" (")[0] for name in lacking] if len(lacking) <= _SHOWN_NAMES else [WILDCARD]
        observed = f"missing on {len(lacking):,} {kind}: {_some(lacking)}"
        return _missing(check, need, permission, observed, principal, sorted(names))
    if not said:
        return check.not_checked(f"no {kind} are visible: there are none, or DESCRIBE is missing")
    if None in said.values():
        return check.not_checked(_TOO_OLD)
    more = f"; {left_out:,} others were not asked about" if left_out else ""
    hidden = f"; {kind} that we may not describe would not be listed" if permission.operation == DESCRIBE else ""
    return check.ok(f"allowed on all {len(said):,} {kind}{more}{hidden}")


def _missing(
    check: Check,
    need: Needs,
    permission: Permission,
    observed: str,
    principal: str,
    names: Sequence[str] = (WILDCARD,),
) -> Result:
    """The result that names the missing ACL, as the command that creates it; on all resources if many lack it."""
    (grant,) = grants(principal, [permission], {permission.resource_type: names})
    to_do = f"add an ACL for {permission}: {grant.command()}"
    if need.goes_without:
        return check.warning(f"{observed}; without it: {permission.without}", f"{to_do}, or skip what needs it")
    return check.failed(f"{observed}; without it: {permission.without}", to_do)


def _some(names: Collection[str]) -> str:
    shown = ", ".join(sorted(names)[:_SHOWN_NAMES])
    return f"{shown} and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else shown
