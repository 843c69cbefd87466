"""Declares the alterations that no client could tell from true answers, each with its reason.

Only a value or an item that a broker may have is indistinguishable. A list with an item twice, two items of one name that
differ, numbers that Kafka never sends and error codes never are, whoever answers.
"""

from dataclasses import dataclass

from tests.proof.answers.alterations import ALL, ONE, Alteration


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Kinds of answers whose altered values may be true, for all that any other answer says, if `who` alters them."""

    kinds: tuple[str, ...]
    who: tuple[str, ...]
    reason: str


_EVERY_BROKER = (
    *("Metadata", "DescribeCluster", "DescribeTopicPartitions", "DescribeAcls", "DescribeClientQuotas"),
    *("DescribeUserScramCredentials", "DescribeDelegationToken", "ListConfigResources", "DescribeConfigs[2]"),
)
DECLARED = (
    Declared(kinds=_EVERY_BROKER, who=(ALL,), reason="every broker says the same, and nobody else can be asked"),
    Declared(
        kinds=("DescribeConfigs[2]",),
        who=(ONE,),
        reason="configs of topics are most bytes of a snapshot, so one broker is asked; a value that its synonyms contradict "
        "is a failure",
    ),
    Declared(
        kinds=("ListOffsets", "OffsetForLeaderEpoch", "DescribeProducers", "Fetch"),
        who=(ONE, ALL),
        reason="only the leader knows its log: other replicas refuse, or are behind",
    ),
    Declared(
        kinds=(
            *("OffsetFetch", "DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"),
            *("DescribeShareGroupOffsets", "DescribeTransactions"),
        ),
        who=(ONE, ALL),
        reason="only the coordinator knows a group or a transaction: other brokers answer NOT_COORDINATOR",
    ),
    Declared(
        kinds=("ListGroups", "ListTransactions"),
        who=(ONE, ALL),
        reason="each broker alone knows which groups and transactions it coordinates",
    ),
    Declared(
        kinds=("ApiVersions", "DescribeConfigs[4]", "DescribeLogDirs"),
        who=(ONE, ALL),
        reason="each broker alone knows its versions, its configs and its disks",
    ),
    Declared(
        kinds=("DescribeQuorum", "ListPartitionReassignments"),
        who=(ONE, ALL),
        reason="only the active controller knows it, and every broker passes its answer on",
    ),
)
_NEVER = ("doubled", "contradicting itself", "= -7777", "= -77", "with an odd value", "null")


def reason_of(alteration: Alteration) -> str | None:
    """The reason why an altered answer is indistinguishable from a true one; None if it is not."""
    mutation = alteration.mutation
    if mutation.name in _NEVER or mutation.path[-1] == "error_code":
        return None
    return next(
        (
            one.reason
            for one in DECLARED
            if alteration.who in one.who and {alteration.kind, alteration.api} & set(one.kinds)
        ),
        None,
    )
