"""Verbs of `lagoon admin` about groups and their stored offsets: commits, and start offsets of share groups."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_lagoon.admin.group_offsets import GroupPartition
from kafka_lagoon.admin.groups import SHARE, GroupListings, described_as, list_groups
from kafka_lagoon.admin.share_groups import GroupTopic
from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.apply.kinds.groups import (
    GroupCommits,
    delete_group_action,
    delete_offsets_action,
    delete_share_offsets_action,
    group_state,
    read_commits,
    read_share_offsets,
    share_topic_states,
)
from kafka_lagoon.apply.offset_resets import ResetSpec, ShiftBy, members_failure, reset_actions
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.admin.offsets_file import read_offsets_file
from kafka_lagoon.cli.admin.selection import SELECTION, merged, selected
from kafka_lagoon.cli.arguments import not_empty
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext, refuse
from kafka_lagoon.cli.kafka.selection import list_notes
from kafka_lagoon.cli.permissions import DELETE_ON_GROUP, READ_GROUP, READ_TOPIC, Requirement
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.client.agreement import agreed_metadata, refused_topics
from kafka_lagoon.client.failures import Failure, Scope, failure_of, own_failure
from kafka_lagoon.fetch.offset_specs import SPELLINGS, AtOffset, OffsetSpecs, parse_offset_specs
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.delete_groups import DELETE_GROUPS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.topic_partition import TopicPartition

_NOT_LISTED = "no broker lists it: it is not there, or we may not describe it"


def _declare_topics(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="TOPIC[:0,1]",
        help="a topic, or partitions of it; may be given several times",
    )
    parser.add_argument("--all-topics", action="store_true", help="all topics for which the group has stored offsets")


def _topic_problems(options: Namespace) -> list[str]:
    problems = [
        f"--topic: {text!r} is not TOPIC or TOPIC:0,1" for text in options.topic if not SELECTION.fullmatch(text)
    ]
    if options.all_topics and options.topic:
        problems.append("--all-topics and --topic exclude each other")
    return problems


def _chosen(options: Namespace) -> Mapping[str, Sequence[int] | None]:
    """Return the named topics with their named partitions; None means all partitions."""
    by_topic = merged(map(selected, options.topic))
    return {topic: None if partitions is None else sorted(partitions) for topic, partitions in by_topic.items()}


def _partitions(
    context: ClusterContext, chosen: Mapping[str, Sequence[int] | None]
) -> tuple[list[TopicPartition], list[Failure]]:
    """List the partitions of the chosen topics that exist, and failures of others. A missing one that was named is a fault."""
    metadata = agreed_metadata(context.cluster, chosen, context.deadline) if chosen else None
    topics = {topic.name: topic for topic in metadata.topics if topic.name is not None} if metadata else {}
    failures = refused_topics(topics.values())
    partitions: list[TopicPartition] = []
    missing: list[TopicPartition] = []
    for name, topic in sorted(topics.items()):
        existing = {one.partition_index for one in topic.partitions}
        wanted = chosen[name]
        for index in () if topic.error_code else sorted(existing) if wanted is None else wanted:
            (partitions if index in existing else missing).append(TopicPartition(name, index))
    if missing and not context.options.all_topics:
        option = "--topic" if context.options.topic else "--from-file"
        refuse(*(f"{option}: there is no partition {one}" for one in missing))
    failures += [failure_of(METADATA, Scope.of_partition(*one), UNKNOWN_TOPIC_OR_PARTITION) for one in missing]
    return partitions, failures


def _declare_reset(parser: ArgumentParser) -> None:
    parser.add_argument(
        "group", metavar="GROUP", help="id of a group of any type, without members; created if it does not exist"
    )
    _declare_topics(parser)
    parser.add_argument("--to", metavar="WHERE", help=SPELLINGS.replace(" topic:partition=offset,...,", ""))
    parser.add_argument(
        "--shift-by", type=int, metavar="N", help="move each offset N forward, or back if N is negative"
    )
    parser.add_argument(
        "--from-file",
        type=not_empty,
        metavar="FILE",
        help="file with lines TOPIC,PARTITION,OFFSET, as kafka-consumer-groups exports them",
    )


def _check_reset(options: Namespace) -> list[str]:
    problems = _topic_problems(options)
    given = [target for target in (options.to, options.shift_by, options.from_file) if target is not None]
    if len(given) != 1:
        problems.append("give one of --to, --shift-by and --from-file")
    if options.from_file is None and not options.topic and not options.all_topics:
        problems.append("give --topic, or --all-topics for all topics of its stored offsets")
    if options.from_file is not None and (options.topic or options.all_topics):
        problems.append("--from-file excludes --topic and --all-topics, because the file names the partitions")
    if options.to is not None and "=" in options.to:
        problems.append("--to: name partitions by --topic, or all of them in a file")
    elif options.to is not None:
        try:
            parse_offset_specs("--to", options.to, 0)
        except ValueError as error:
            problems.append(f"--to: {error}")
    if options.from_file is not None:
        options.offsets, faults = read_offsets_file(options.from_file, options.group)  # read once: it may be a pipe
        problems += faults
    return problems


def _plan_reset(context: ClusterContext) -> PlannedActions:
    options, not_read = context.options, list[Failure]()
    if options.from_file is not None:
        specs: dict[TopicPartition, ResetSpec] = {
            partition: AtOffset(offset) for partition, offset in options.offsets.items()
        }
        partitions, failures = _partitions(context, _by_topic(specs))
    else:
        chosen, not_read = _stored(context) if options.all_topics else (_chosen(options), [])
        partitions, failures = _partitions(context, chosen)
        specs = dict.fromkeys(partitions, _spec(context))
    wanted = {partition: specs[partition] for partition in partitions}
    actions, unread = reset_actions(context.cluster, options.group, wanted, context.deadline)
    return PlannedActions(
        actions=actions, failures=[*not_read, *failures, *unread], notes=[*_notes(actions), *_hidden(context)]
    )


def _notes(actions: Sequence[Action]) -> Sequence[str]:
    """Warn that the group is new, because a misspelt name would create a group."""
    is_new = actions and all(action.before is None for action in actions)
    return (
        ["the group has stored no offsets for these partitions; it is created if it does not exist"] if is_new else []
    )


def _by_topic(partitions: Mapping[TopicPartition, object]) -> Mapping[str, Sequence[int]]:
    topics: dict[str, list[int]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition.partition)
    return topics


def _spec(context: ClusterContext) -> ResetSpec:
    if context.options.shift_by is not None:
        return ShiftBy(context.options.shift_by)
    specs: OffsetSpecs = parse_offset_specs("--to", context.options.to, context.cluster.clock.now_ms())
    assert specs.default is not None  # noqa: S101  `_check_reset` has refused partitions
    return specs.default


def _stored(context: ClusterContext) -> tuple[Mapping[str, Sequence[int]], list[Failure]]:
    """Return the partitions for which the group has stored offsets, and failures of those that cannot be read."""
    group_id = context.options.group
    listings = list_groups(context.cluster, context.deadline)
    stored = _read(context, listings)
    read = (item for item, state in stored.states.items() if item.group_id == group_id and state is not None)
    partitions = {item.topic_partition: None for item in read}
    failures = list(stored.failures.values())
    if not partitions and not failures:
        refuse(f"--all-topics: group {group_id} has stored no offsets, or is not there")
    return _by_topic(partitions), failures


def _is_share(listings: GroupListings, group_id: str) -> bool:
    listing = listings.groups.get(group_id)
    return listing is not None and described_as(listing) == SHARE


def _read(context: ClusterContext, listings: GroupListings) -> GroupCommits:
    group_id = context.options.group
    read = read_share_offsets if _is_share(listings, group_id) else read_commits
    return read(context.cluster, listings, [group_id], context.deadline)


def _declare_deletion(parser: ArgumentParser) -> None:
    parser.add_argument(
        "group", metavar="GROUP", help="id of a group of any type; its members must not read the topics"
    )
    _declare_topics(parser)


def _check_deletion(options: Namespace) -> list[str]:
    problems = _topic_problems(options)
    if not options.topic and not options.all_topics:
        problems.append("give --topic, or --all-topics for all topics of its stored offsets")
    return problems


def _plan_deletion(context: ClusterContext) -> PlannedActions:
    options = context.options
    listings = list_groups(context.cluster, context.deadline)
    state = group_state(listings, options.group)
    if state is None or isinstance(state, Failure):
        return PlannedActions(failures=[state or _missing(options.group)])
    stored, chosen = _read(context, listings), _chosen(options)
    _, refused = _partitions(context, chosen)
    if _is_share(listings, options.group):
        planned = _plan_share_deletion(stored, options.group, chosen)
        return replace(planned, failures=[*planned.failures, *refused], notes=_hidden(context))
    named = {topic: None if numbers is None else frozenset(numbers) for topic, numbers in chosen.items()}
    items = [item for item in sorted(stored.states) if not named or _is_named(item, named)]
    failures = [*stored.failures.values(), *refused]
    nothing = [] if items or failures else ["the group has stored nothing about these partitions"]
    return PlannedActions(
        actions=[delete_offsets_action(item, stored.states[item]) for item in items],
        failures=failures,
        notes=[*nothing, *_hidden(context)],
    )


def _hidden(context: ClusterContext) -> Sequence[str]:
    """Return a note about topics that brokers may have left out of the group's list."""
    return list_notes(context, OFFSET_FETCH.name, "topics of groups") if context.options.all_topics else ()


def _is_named(item: GroupPartition, named: Mapping[str, frozenset[int] | None]) -> bool:
    wanted = named.get(item.topic, frozenset())
    return wanted is None or item.partition in wanted


def _plan_share_deletion(
    stored: GroupCommits, group_id: str, chosen: Mapping[str, Sequence[int] | None]
) -> PlannedActions:
    """Plan to delete the offsets of whole topics, because share groups cannot delete those of single partitions."""
    partial = [name for name, partitions in chosen.items() if partitions is not None]
    if partial:
        refuse(
            *(
                f"--topic: {group_id} is a share group, which deletes its offsets of all partitions of {name}"
                for name in partial
            )
        )
    if group_id in stored.failures:
        return PlannedActions(failures=[stored.failures[group_id]])
    known = (item for item in (*stored.states, *stored.failures) if not isinstance(item, str))
    topics = list(chosen) if chosen else sorted({item.topic for item in known})
    actions: list[Action] = []
    failures: list[Failure] = []
    for item, state in share_topic_states(stored, (GroupTopic(group_id, topic) for topic in topics)).items():
        if isinstance(state, Failure):
            failures.append(state)
        elif state is not None:
            actions.append(delete_share_offsets_action(item, state))
    return PlannedActions(actions=actions, failures=failures)


def _missing(group_id: str) -> Failure:
    return own_failure("ListGroups", Scope.group(group_id), "NOT_LISTED", _NOT_LISTED)


def _declare_groups(parser: ArgumentParser) -> None:
    parser.add_argument("groups", nargs="+", metavar="GROUP", help="id of a group of any type, without members")


def _plan_groups(context: ClusterContext) -> PlannedActions:
    listings = list_groups(context.cluster, context.deadline)
    actions: list[Action] = []
    failures: list[Failure] = []
    for group_id in dict.fromkeys(context.options.groups):
        state = group_state(listings, group_id)
        problem = state if isinstance(state, Failure) else members_failure(listings, group_id, DELETE_GROUPS.name)
        if problem:
            failures.append(problem)
        elif state is None or isinstance(state, Failure):
            failures.append(_missing(group_id))
        else:
            actions.append(delete_group_action(group_id, state))
    return PlannedActions(actions=actions, failures=failures)


RESET_OFFSETS = Command(
    kind=altering(),
    summary="Sets the offsets of a group: to the start, the end, an offset or a time, or moves them by a number.",
    examples=(
        "lagoon admin reset-offsets billing -b kafka-1:9092 --topic orders --to earliest --dry-run",
        "lagoon admin reset-offsets billing -b kafka-1:9092 --all-topics --to '2026-07-14T09:00'",
    ),
    declare=_declare_reset,
    check=_check_reset,
    answer=_plan_reset,
    requires={"": Requirement(permissions=(READ_GROUP, READ_TOPIC))},
)
DELETE_OFFSETS = Command(
    kind=altering(Guard.DELETIONS),
    summary="Deletes the offsets that a group has stored for topics or partitions.",
    examples=("lagoon admin delete-offsets billing -b kafka-1:9092 --topic orders-old --allow-deletions",),
    declare=_declare_deletion,
    check=_check_deletion,
    answer=_plan_deletion,
    requires={"": Requirement(permissions=(DELETE_ON_GROUP, READ_TOPIC))},
)
DELETE_GROUP = Command(
    kind=altering(Guard.DELETIONS),
    summary="Deletes groups with their stored offsets.",
    examples=("lagoon admin delete-group billing-old -b kafka-1:9092 --allow-deletions",),
    declare=_declare_groups,
    answer=_plan_groups,
    requires={"": Requirement(permissions=(DELETE_ON_GROUP,))},
)
