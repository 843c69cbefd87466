"""Declares the tables of archived records: records, record_ranges and record_problems."""

from collections.abc import Mapping
from typing import Any

from kafka_lagoon.tables.columns import columns_of
from kafka_lagoon.tables.record_rows import RecordProblemRow, RecordRangeRow, RecordRow
from kafka_lagoon.tables.table import RECORDS_LOG_DAYS, WITH_DOMAINS, Table, comment_of, day_column

INGEST_DATE = "ingest_date"


def _archive(name: str, row: type[Any], features: Mapping[str, str], bounded_in_0_1: str) -> Table:
    return Table(
        name=name,
        row=row,
        comment=comment_of(row),
        columns=(*columns_of(row), day_column(INGEST_DATE, "the run")),
        features=features,
        bounded_in_0_1=tuple(bounded_in_0_1.split()),
        log_days=RECORDS_LOG_DAYS,
    )


RECORDS = _archive(
    "records",
    RecordRow,
    WITH_DOMAINS,
    "cluster_id topic topic_id partition offset timestamp timestamp_ms timestamp_type leader_epoch producer_id "
    "producer_epoch ingest_id",
)
RECORD_RANGES = _archive("record_ranges", RecordRangeRow, {}, "ingest_id cluster_id")
RECORD_PROBLEMS = _archive("record_problems", RecordProblemRow, {}, "ingest_id cluster_id")
RECORD_TABLES = (RECORDS, RECORD_RANGES, RECORD_PROBLEMS)
