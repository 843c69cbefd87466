"""Declares the metrics of a run: how it ended, when, and how much it did."""

from kafka_lagoon.metrics.exposition import Metric

_RUN = ("lagoon_job", "kafka_cluster")  # job, and often cluster, are labels that Prometheus gives to its targets

EXIT_CODE = Metric(
    "lagoon_run_exit_code",
    "Exit code of the last run: 0 complete, 1 failed, 2 bad settings, 3 incomplete, 4 another run held the lock; "
    "129, 130 and 143 interrupted.",
    _RUN,
)
STATUS = Metric(
    "lagoon_run_status",
    "1 for the status of the last run, 0 for the others.",
    (*_RUN, "status"),
)
END = Metric("lagoon_run_end_timestamp_seconds", "When the last run ended.", _RUN)
DURATION = Metric("lagoon_run_duration_seconds", "How long the last run took.", _RUN)
FAILURES = Metric("lagoon_run_failures", "What the last run could not collect, read or write.", _RUN)
REQUESTS = Metric(
    "lagoon_run_requests", "Requests that the last run sent to brokers; those of executors are not counted.", _RUN
)
RECORDS = Metric("lagoon_run_records", "Records that the last run archived or restored.", _RUN)
FETCHED = Metric("lagoon_run_fetched_bytes", "Bytes of record batches that the last run fetched.", _RUN)
LOST = Metric("lagoon_run_lost_offsets", "Offsets that were deleted before the last run read them.", _RUN)
CORRUPT = Metric("lagoon_run_corrupt_offsets", "Offsets in batches that the last run could not decode.", _RUN)
UNREAD = Metric("lagoon_run_unread_offsets", "Planned offsets that the last run left to the next one.", _RUN)

LAST_SUCCESS = Metric(
    "lagoon_last_success_timestamp_seconds",
    "When the last run ended whose result is in the tables, be it complete or partial.",
    _RUN,
)
