"""SQL that sums the lag of a group over its partitions, and orders groups by it, for both engines.

`lagoon lag`, the report, the metrics and view `lag_by_group` use it, so they agree about every group. group_lag.py is the same
in Python.
"""

from kafka_lagoon.group_lag import LOG_START, SHARE
from kafka_lagoon.integers import MOST_INT64

LAG_TABLE = "consumer_lag_published"
UNCOMMITTED = f"lag_basis = '{LOG_START}'"
# Share groups have no position: neither a first unread record with an age, nor a commit that may be below the start of the log.
_HAS_POSITION = f"NOT {UNCOMMITTED} AND coalesce(group_type, '') <> '{SHARE}'"
# Age of the first unread record: 0 if nothing is unread; null if unknown, and for share groups.
TIME_LAG = f"CASE WHEN lag = 0 AND {_HAS_POSITION} THEN 0 ELSE time_lag_ms END"
LOST = "CASE WHEN records_lost > 0 THEN records_lost ELSE 0 END DESC"
MOST = "lag DESC NULLS LAST"
UNKNOWN_LAG = f"lag IS NULL AND NOT {UNCOMMITTED}"
UNKNOWN_TIME = f"{TIME_LAG} IS NULL AND {_HAS_POSITION}"
UNKNOWN_LOSS = f"records_lost IS NULL AND {_HAS_POSITION}"


def whole_sum(column: str) -> str:
    """The sum of a BIGINT column in SQL: null if all values are, and cut to 2^63-1 and -(2^63-1).

    A client may commit 2^63-1 in several partitions; a sum that does not fit would end the statement for all groups.
    """
    total = f"sum(CAST({column} AS DECIMAL(20, 0)))"
    return (
        f"CASE WHEN {total} < -{MOST_INT64} THEN -{MOST_INT64} WHEN {total} > {MOST_INT64} THEN {MOST_INT64} "
        f"ELSE CAST({total} AS BIGINT) END"
    )


# Over the partitions of a group.
SUMS = f"""count(*) AS partitions, count(lag) AS known_partitions,
    {whole_sum("lag")} AS lag, max(lag) AS highest_lag, max({TIME_LAG}) AS time_lag_ms,
    {whole_sum("records_lost")} AS records_lost,
    count(CASE WHEN {UNKNOWN_LAG} THEN 1 END) AS unknown_lags,
    count(CASE WHEN {UNKNOWN_TIME} THEN 1 END) AS unknown_time_partitions"""
# Append conditions and GROUP BY cluster, snapshot_id, group_id.
SUMS_OF_GROUPS = f"SELECT cluster, snapshot_id, group_id, {SUMS} FROM {LAG_TABLE} WHERE"  # noqa: S608  names of ours

# The age is unknown if one age is unknown and no other is above 0. Ages below 0 are of producers whose clock is ahead.
KNOWN_AGE = "CASE WHEN sums.unknown_time_partitions > 0 AND sums.time_lag_ms <= 0 THEN NULL ELSE sums.time_lag_ms END"
GROUP_AGE = "CASE WHEN unknown_time_partitions > 0 THEN NULL ELSE coalesce(time_lag_ms, -1) END DESC NULLS FIRST"
WORST_GROUP = f"{LOST}, {GROUP_AGE}, {MOST}, cluster, group_id"
