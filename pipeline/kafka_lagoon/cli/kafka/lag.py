"""`lagoon kafka lag`: the current lag of groups, with the same values as table consumer_lag.

Beside each sum is the number of partitions that it includes: unknown lag does not count as 0.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence

from kafka_lagoon.admin.offsets import KINDS_OF_LAG, LOCAL_START
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.kafka.lag_selection import (
    complaints,
    declare,
    is_timed,
    of_topics,
    selected_groups,
    shown_groups,
    shown_partitions,
)
from kafka_lagoon.cli.kafka.selection import list_notes, not_listed
from kafka_lagoon.cli.kafka.watch import add_watch
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import ALL_GROUPS, GROUPS, NAMED_GROUPS, TOPICS_OF_COMMITS, Requirement
from kafka_lagoon.cli.thresholds import left_out, nothing_visible
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.group_lag import SHARE, GroupLag
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.snapshot.coverage import worth_a_row
from kafka_lagoon.snapshot.group_state import lag_of, read_groups, unread_groups
from kafka_lagoon.snapshot.offsets import offset_rows
from kafka_lagoon.snapshot.share_lag import share_lag_basis
from kafka_lagoon.snapshot.share_offsets import ShareOffsetRow, share_offset_rows
from kafka_lagoon.snapshot.topology import Topology, check_again, read_topology
from kafka_lagoon.tables.group_rows import ConsumerGroupRow, ConsumerLagRow
from kafka_lagoon.tables.row_classes import Int32, Int64, before, column, row

_GROUP = ("group_id", "state", "members", "partitions", "known_partitions", "lag", "highest_lag", "problem")
_WIDE_GROUP = (_GROUP[0], "group_type", *_GROUP[1:])
_LAG = ("group_id", "topic", "partition", "committed_offset", "high_watermark", "lag", "problem")
_TIMED = ("group_id", "topic", "partition", "lag", "time_lag_ms", "time_lag_problem", "problem")
_PARTITION = ("group_id", "topic", "partition")
_OFFSETS = ("committed_offset", "log_start_offset", "last_stable_offset", "high_watermark")
_TIMES = ("time_lag_ms", "time_lag_method", "time_lag_problem")
_WIDE_LAG = (*_PARTITION, *_OFFSETS, "lag", "records_lost", *_TIMES, "client_id", "client_host", "problem")
_SHARE = ("group_id", "topic", "partition", "start_offset", "lag", "problem")


@row
class GroupLagRow:
    """The lag of groups, summed over their partitions."""

    group_id: str = column("group.id of the group.")
    group_type: str | None = column(
        "classic, consumer (KIP-848), share or streams; null if the brokers do not return it.",
        null_if=before("ListGroups", 5),
    )
    state: str | None = column("State of the group as Kafka spells it; null if unknown.")
    members: Int32 | None = column("Members of the group; null if unknown.")
    partitions: Int32 = column("Partitions that the group has committed, is assigned or subscribed to.")
    known_partitions: Int32 = column("Partitions whose lag is known.")
    lag: Int64 | None = column(
        "Sum of the known lag, cut to 2^63-1 and -(2^63-1); null if no lag is known.", null_if="known_partitions = 0"
    )
    highest_lag: Int64 | None = column(
        "Highest known lag of a partition; null if no lag is known.", null_if="known_partitions = 0"
    )
    problem: str | None = column(
        "Reason why the group could not be described, or its offsets not be read; null if there is none."
    )


def _declare(parser: ArgumentParser) -> None:
    declare(parser)
    add_watch(parser)


def _answer(context: ClusterContext) -> CommandOutput:
    options = context.options
    topology = read_topology(context.cluster, None, context.deadline)
    only = selected_groups(options)
    # The local start is needed because records before it are in tiered storage, and are not fetched.
    kinds = (*KINDS_OF_LAG, LOCAL_START) if is_timed(options) else KINDS_OF_LAG
    state = read_groups(context.cluster, topology, context.deadline, _ignore_progress, kinds, only=only)
    topology, unchecked = check_again(context.cluster, topology, context.deadline)
    share_rows = of_topics(list(share_offset_rows(state.shares.answers, topology.names())), options)
    offsets = offset_rows(topology, state.offsets)
    columns = lag_of(topology, state, offsets)
    lag = of_topics(list(columns), options)
    times: Sequence[Failure] = ()
    if is_timed(options):
        from kafka_lagoon.cli.kafka.lag_times import timed  # noqa: PLC0415  only --time needs it

        with_times = timed(context, lag, columns, offsets)
        lag, times = list(with_times.rows), with_times.failures
    totals = list(group_lag_rows(state.groups.groups, lag, share_rows, unread_groups(state)))
    stopped = _stopped_groups(context, [one.group_id for one in totals]) if options.fail_above else []
    hidden = _hidden(context)
    passed = list[str]()
    if options.fail_above:
        empty = {"group": not state.listed, "topic": not topology.topic_ids}
        passed += complaints([*lag, *share_rows], totals, options, set(stopped))
        passed += [nothing_visible(what) for what, is_empty in empty.items() if is_empty and what in hidden]
    # A group may have commits in a topic that was deleted.
    known_topics = {*topology.topic_ids, *(row.topic for row in lag), *(row.topic for row in share_rows)}
    stats = context.cluster.request_stats
    failures = worth_a_row([*state.failures, *unchecked, *times], topology, stats)
    shown_topics = None if options.topic is None else {None, *options.topic}
    return CommandOutput(
        rows=_parts(totals, lag, share_rows, options),
        failures=[
            *(failure for failure in failures if shown_topics is None or failure.scope.topic in shown_topics),
            *not_listed(LIST_GROUPS.name, Scope.group, options.group, state.listed, state.failures),
            *not_listed(METADATA.name, Scope.of_topic, options.topic or (), known_topics),
        ],
        complaints=passed,
        notes=[*left_out(stopped, options.fail_above), *_notes(context, topology), *hidden.values()],
    )


def _stopped_groups(context: ClusterContext, groups: Sequence[str]) -> list[str]:
    """Return the groups that the settings expect to be stopped now."""
    if not context.owners.expected:
        return []
    from kafka_lagoon.snapshot.owners import expected_group_rows  # noqa: PLC0415  few settings need it

    now_ms = context.cluster.clock.now_ms()
    return [row.group_id for row in expected_group_rows(context.owners, groups, now_ms) if not row.should_run]


def _ignore_progress(_step: str, _items: int) -> None:
    """Show no progress, because the command takes about a second."""


def _parts(
    totals: Sequence[GroupLagRow],
    lag: Sequence[ConsumerLagRow],
    shares: Sequence[ShareOffsetRow],
    options: Namespace,
) -> list[RowSet]:
    partitions = shown_partitions(lag, options)
    columns = _TIMED if is_timed(options) else _LAG
    parts = [
        RowSet(kind="group", rows=shown_groups(totals, partitions, options), columns=_GROUP, wide=_WIDE_GROUP),
        RowSet(kind="lag", rows=partitions, columns=columns, wide=_WIDE_LAG),
    ]
    return [*parts, RowSet(kind="share", rows=shown_partitions(shares, options), columns=_SHARE)] if shares else parts


def group_lag_rows(
    groups: Sequence[ConsumerGroupRow],
    lag: Sequence[ConsumerLagRow],
    shares: Sequence[ShareOffsetRow],
    unread: Mapping[str, str],
) -> Iterator[GroupLagRow]:
    """Make one row per group, with or without partitions; `unread` has the reason why all offsets of a group are missing."""
    sums = {group.group_id: GroupLag() for group in groups}
    for partition in lag:
        sums.setdefault(partition.group_id, GroupLag()).add(partition.group_type, partition.lag, partition.lag_basis)
    for share in shares:
        basis = share_lag_basis(share.lag, share.problem)
        sums.setdefault(share.group_id, GroupLag()).add(SHARE, share.lag, basis)
    for group in groups:
        of_group = sums[group.group_id]
        of_group.cut()
        yield GroupLagRow(
            group_id=group.group_id,
            group_type=group.group_type,
            state=group.state,
            members=group.members,
            partitions=of_group.partitions,
            known_partitions=of_group.known_partitions,
            lag=of_group.lag,
            highest_lag=of_group.highest_lag,
            problem=group.problem or unread.get(group.group_id),
        )


def _hidden(context: ClusterContext) -> dict[str, str]:
    """Return a note for each kind of list that brokers may have shortened; named groups need no list."""
    groups = () if context.options.group else list_notes(context, LIST_GROUPS.name, "groups")
    topics = list_notes(context, OFFSET_FETCH.name, "topics of groups")
    return {what: note for what, some in (("group", groups), ("topic", topics)) for note in some}


def _notes(context: ClusterContext, topology: Topology) -> list[str]:
    wanted = None if context.options.topic is None else frozenset(context.options.topic)
    return [
        f"{topic}: {problem}"
        for topic, problem in sorted({**topology.changed, **topology.unasked}.items())
        if wanted is None or topic in wanted
    ]


COMMAND = Command(
    kind=CLUSTER,
    summary="Shows the lag of groups: high watermark - committed offset, unclamped. Unknown lag is a dash, with its problem.",
    examples=(
        "lagoon kafka lag -b kafka-1:9092",
        "lagoon kafka lag billing -b kafka-1:9092 --time --sort time",
        "lagoon kafka lag -b kafka-1:9092 --watch 5",
    ),
    declare=_declare,
    answer=_answer,
    requires={
        "": Requirement(
            permissions=(ALL_GROUPS, GROUPS, TOPICS_OF_COMMITS),
            remark="With --time also READ on Topic, or ages are not known.",
        ),
        "GROUP": Requirement(permissions=(NAMED_GROUPS, TOPICS_OF_COMMITS)),
    },
)
