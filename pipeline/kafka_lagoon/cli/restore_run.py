"""Writes archived records back into a cluster, and prints the plan, its progress and its receipts.

It is what `lagoon restore` does once its arguments are read.
"""

from collections.abc import Iterator

from kafka_lagoon.apply.rendering import render
from kafka_lagoon.cli.alterations import result_line
from kafka_lagoon.cli.outcome import PARTIAL, RESTORE, OutcomeProgress, RunOutcome, one_by_one
from kafka_lagoon.cli.restore_arguments import RestoreArguments
from kafka_lagoon.cli.run_metrics import metrics_written
from kafka_lagoon.cli.terminal import COMPLETE, FAILED, INCOMPLETE, is_confirmed, say, warn, worst_of_clusters
from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.jvm_start import StartingJvm
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.restore import STEPS, RestoreResult, restore
from kafka_lagoon.tables.schema import WRITE_TABLES
from kafka_lagoon.tables.write_rows import RestoreReceiptRow
from kafka_lagoon.warehouse_settings import own_folder


def restore_all(arguments: RestoreArguments, clock: Clock, starting: StartingJvm | None = None) -> int:
    """Restore records, print and report the result; return the exit code.

    The tables are opened by the JVM that is `starting`, if there is one.
    """
    settings = arguments.settings
    needs_session = settings.restore.local_max_bytes == 0 or own_folder(settings) is None
    outcome = RunOutcome(job=RESTORE, cluster=arguments.request.to_cluster, dry_run=arguments.request.is_dry_run)
    written = metrics_written(settings, [outcome], clock)
    opened = RunContext(RESTORE, settings, clock, WRITE_TABLES, needs_session=needs_session, starting=starting)
    with written, opened as context:
        codes = one_by_one([outcome], clock, lambda each: _restore(context, arguments, each))
    return worst_of_clusters(codes)


def _restore(context: RunContext, arguments: RestoreArguments, outcome: RunOutcome) -> int:
    def confirm(planned: RestoreResult) -> bool:
        steps.stop()
        return arguments.is_confirmed or _is_confirmed(planned)

    with OutcomeProgress(outcome, STEPS) as steps:
        result = restore(context, arguments.request, outcome.request_stats, steps, confirm)
    _describe(outcome, result)
    if result.is_declined:
        warn("nothing was written")
        return FAILED
    for line in lines(result):
        say(line)
    return COMPLETE if result.is_complete else INCOMPLETE


def _is_confirmed(planned: RestoreResult) -> bool:
    """Show the plan and ask at the terminal."""
    for line in (*render(planned.actions), *(f"note: {note}" for note in planned.notes), *_written_to(planned)):
        say(line)
    return is_confirmed(f"Restore this into cluster {planned.cluster} ({planned.cluster_id})?")


def _written_to(planned: RestoreResult) -> Iterator[str]:
    for topic in planned.topics:
        records = sum(topic.records[number] for number in topic.partitions)
        name = planned.targets[topic.topic]
        yield f"{topic.topic} to {name}: at most {records:,} records in {len(topic.partitions):,} partitions"


def _describe(outcome: RunOutcome, result: RestoreResult) -> None:
    outcome.restore_id = result.plan.restore_id if result.plan else None
    outcome.topics = len(result.topics)
    outcome.partitions = sum(len(topic.partitions) for topic in result.topics)
    outcome.records = result.written
    receipts = sum(1 for row in result.receipts if row.problem)
    outcome.failures = len(result.failures) + receipts + len(result.not_done) + result.offsets_left
    outcome.dry_run = result.is_dry_run
    outcome.status = None if result.is_complete else PARTIAL


def lines(result: RestoreResult) -> Iterator[str]:
    """Make the lines of a finished or planned restore: topics, notes, unrestored partitions and offsets, and a summary."""
    yield from render(result.actions)
    for note in result.notes:
        yield f"note: {note}"
    for target, failure in sorted(result.failures.items()):
        yield f"{target}: {failure}"
    for row in result.receipts:
        if row.problem:
            yield (
                f"{row.target_topic}-{row.target_partition}: {row.problem}: {row.records:,} records were written, "
                f"{'unknown' if row.records_read_back is None else f'{row.records_read_back:,}'} were read back{_others(row)}"
            )
    for failed in result.not_done:
        yield result_line(failed)
    yield _last_line(result)


def _others(row: RestoreReceiptRow) -> str:
    if not row.other_records:
        return ""
    return f", and others wrote {row.other_records:,} records in between, at offsets {row.other_offsets}"


def _last_line(result: RestoreResult) -> str:
    where = f"{result.cluster} ({result.cluster_id})"
    partitions = sum(len(topic.partitions) for topic in result.topics)
    if result.plan and result.finished_at and not result.is_continued:
        good = sum(1 for row in result.receipts if not row.problem)
        receipts = (
            "receipts good" if good == len(result.receipts) else f"{good:,} of {len(result.receipts):,} receipts good"
        )
        return (
            f"{where}: restore {result.plan.restore_id} finished on {result.finished_at}, {receipts}, 0 records written"
        )
    if result.is_dry_run:
        begun = f"; restore {result.plan.restore_id} is unfinished and would continue" if result.plan else ""
        counted = f"{result.to_write:,} records" if result.to_write is not None else "records"
        return f"{where}: {counted} of {partitions:,} partitions would be restored{begun}; nothing was changed"
    name = result.plan.restore_id if result.plan else ""
    total = sum(one.written for one in result.progress.positions.values()) if result.progress else 0
    parts = [f"{result.written:,} records written to {partitions:,} partitions"]
    if result.is_continued:
        parts.append(f"{total:,} with those of earlier runs")
    if result.receipts:
        same = sum(1 for row in result.receipts if not row.problem)
        parts.append(f"{same:,} of {len(result.receipts):,} partitions are equal to the archive when read back")
    else:
        parts.append("not finished: run it again to continue")
    return f"{where}: restore {name}: {', '.join(parts)} ({result.seconds:.1f} s)"
