"""The judge on made-up evidence: it accepts what is right, and names each kind of violation."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.proof.evidence import (
    Evidence,
    Partition,
    PublishedSnapshot,
    Quiet,
    QuietRow,
    Range,
    RestoredPartition,
    Rollback,
    Row,
    Run,
    digest,
)
from tests.proof.judge import judge
from tests.proof.verdict import KINDS

ORDERS, CLICKS = Partition("orders", 0), Partition("clicks", 0)
FIRST, SECOND = "ingest-1", "ingest-2"


def sha(offset: int) -> str:
    return digest(1_000 + offset, b"key", b"%d" % offset, [])


RECORDS = {offset: sha(offset) for offset in range(10)}


def span(from_offset: int, to_offset: int, sequence: int, **values: object) -> Range:
    """Make a range of ORDERS with a record at every offset."""
    made = Range(
        partition=ORDERS,
        ingest_id=f"ingest-{sequence}",
        sequence=sequence,
        planned_at_ms=sequence * 1_000,
        from_offset=from_offset,
        to_offset=to_offset,
        records=to_offset - from_offset,
    )
    return replace(made, **values)  # type: ignore[arg-type]


def rows(offsets: Sequence[int] | range, ingest_id: str = FIRST) -> list[Row]:
    return [Row(ORDERS, offset, sha(offset), ingest_id) for offset in offsets]


def ingest(sequence: int, exit_code: int = 0, **acknowledged: int) -> Run:
    """Make a run of an ingest that ended after its ranges were planned."""
    return Run(
        job="ingest",
        exit_code=exit_code,
        ended_at_ms=sequence * 1_000 + 500,
        event={"ingest_id": f"ingest-{sequence}"},
        acknowledged={Partition(topic, 0): end for topic, end in acknowledged.items()},
    )


GOOD = Evidence(
    committed={ORDERS: RECORDS},
    sent={"orders": set(RECORDS.values())},
    in_log={ORDERS: RECORDS},
    log_starts={ORDERS: 0},
    rows=[*rows(range(6)), *rows(range(6, 10), SECOND)],
    archived={(FIRST, ORDERS): 6, (SECOND, ORDERS): 4},
    ranges=[span(0, 6, 1), span(6, 10, 2)],
    runs=[ingest(1, orders=6), ingest(2, orders=10)],
)


def counts(evidence: Evidence) -> dict[str, int]:
    """Return what the judge counts, without zeros."""
    return {kind: count for kind, count in judge(evidence).counts().items() if count}


def without(*offsets: int) -> Evidence:
    """Return evidence in which the second run has skipped offsets, and nothing says so."""
    return replace(
        GOOD,
        rows=[row for row in GOOD.rows if row.offset not in offsets],
        archived={(FIRST, ORDERS): 6, (SECOND, ORDERS): 4 - len(offsets)},
        ranges=[span(0, 6, 1), span(6, 10, 2, records=4 - len(offsets), others=len(offsets))],
    )


def removed(*offsets: int, **counted: object) -> Evidence:
    """Return evidence in which Kafka has removed offsets before the second run could read them."""
    left = {offset: sha for offset, sha in RECORDS.items() if offset not in offsets}
    skipped = span(6, 10, 2, **{"records": 4 - len(offsets), "problem": "LOST", **counted})
    evidence = replace(without(*offsets), in_log={ORDERS: left}, log_starts={ORDERS: min(left)})
    return replace(evidence, ranges=[span(0, 6, 1), skipped], runs=[ingest(1), ingest(2, exit_code=3)])


def test_what_is_right_is_good() -> None:
    """Every record once, ranges that join, runs that said the truth: nothing is found."""
    assert judge(GOOD).is_good
    assert judge(GOOD).counts() == dict.fromkeys(KINDS, 0)


def test_a_lost_record() -> None:
    """A record that Kafka has and no row: lost."""
    assert counts(without(7, 8)) == {"lost": 2}


def test_a_record_that_was_never_acknowledged_but_is_there() -> None:
    """Its producer never knew, but consumers read it: it must be archived, too."""
    unknown = {offset: sha for offset, sha in RECORDS.items() if offset != 7}
    assert counts(replace(GOOD, committed={ORDERS: unknown})) == {}
    assert counts(replace(without(7), committed={ORDERS: unknown})) == {"lost": 1}


def test_a_doubled_record() -> None:
    """The same offset in two rows: doubled; that the ranges count another number is found, too."""
    twice = replace(GOOD, rows=[*GOOD.rows, *rows([3], SECOND)], archived={**GOOD.archived, (SECOND, ORDERS): 5})
    assert counts(twice) == {"doubled": 1, "silent": 1}


def test_an_altered_record() -> None:
    """Other bytes than Kafka has, or than were acknowledged where Kafka has nothing left: altered."""
    other = [Row(ORDERS, 3, sha(99), FIRST) if row.offset == 3 else row for row in GOOD.rows]
    assert counts(replace(GOOD, rows=other)) == {"altered": 1}
    retained = replace(GOOD, in_log={ORDERS: {9: sha(9)}}, log_starts={ORDERS: 9})
    assert counts(retained) == {}
    assert counts(replace(retained, rows=other)) == {"altered": 1}


def test_a_record_of_an_aborted_transaction() -> None:
    """It is in no log that consumers of committed records read."""
    committed = {offset: sha for offset, sha in RECORDS.items() if offset != 4}
    dirty = replace(GOOD, committed={ORDERS: committed}, aborted={ORDERS: {4: sha(4)}}, in_log={ORDERS: committed})
    assert counts(dirty) == {"altered": 1}
    assert counts(replace(dirty, log_starts={ORDERS: 9})) == {"altered": 1}


def test_a_record_that_nobody_sent() -> None:
    """A row where Kafka has nothing any more is compared with what producers sent."""
    assert counts(replace(GOOD, in_log={}, log_starts={ORDERS: 10})) == {}
    assert counts(replace(GOOD, in_log={}, log_starts={ORDERS: 10}, committed={}, sent={})) == {"altered": 10}


def test_rows_that_are_not_in_order() -> None:
    """Data files have the records of a partition in the order of their offsets."""
    assert counts(replace(GOOD, in_order=False)) == {"altered": 1}


def test_a_loss_that_was_reported() -> None:
    """Retention took two records, a range counts them, and the run ended with exit 3."""
    verdict = judge(removed(6, 7, lost=2))
    assert verdict.is_good
    assert verdict.reported == 2


def test_a_silent_loss() -> None:
    """Counted as something else, or not at all."""
    assert counts(removed(6, 7, others=2, problem=None)) == {"silent": 2}
    assert counts(removed(6, 7, lost=1, others=1)) == {"silent": 1}


def test_compaction_explains_only_what_is_compacted() -> None:
    """Offsets counted as compacted are no loss in a compacted topic, and one in any other."""
    evidence = removed(6, 7, compacted=2, problem=None)
    assert counts(evidence) == {"silent": 2}
    assert counts(replace(evidence, compacted=["orders"])) == {}


def test_a_replica_that_was_compacted_less() -> None:
    """It has records that another had removed when it was read: no loss if the archive has a later record of the key."""
    evidence = replace(
        removed(6, 7, compacted=2, problem=None), in_log={ORDERS: RECORDS}, compacted=["orders"], log_starts={}
    )
    assert counts(evidence) == {"lost": 2}
    keys: dict[int, bytes | None] = dict.fromkeys(range(10), b"key")
    later = [row._replace(key=b"key") for row in evidence.rows]
    assert counts(replace(evidence, keys={ORDERS: keys}, rows=later)) == {}
    assert counts(replace(evidence, keys={ORDERS: keys | {7: None}}, rows=later)) == {"lost": 1}
    counted = replace(evidence.ranges[-1], compacted=1, others=evidence.ranges[-1].others + 1)
    uncounted = replace(evidence, keys={ORDERS: keys}, rows=later, ranges=[*evidence.ranges[:-1], counted])
    assert counts(uncounted) == {"silent": 1}


def test_a_loss_that_no_exit_code_reported() -> None:
    """The row alone is not enough: exit 0 says that all is well."""
    evidence = removed(6, 7, lost=2)
    assert counts(replace(evidence, runs=[ingest(1), ingest(2)])) == {"silent": 1}
    killed = Run(job="ingest", exit_code=-9)
    assert counts(replace(evidence, runs=[ingest(1), killed])) == {"silent": 1}
    later = Run(
        job="ingest", exit_code=3, output=f"default: ingest {SECOND} died before it could report that it had ..."
    )
    assert counts(replace(evidence, runs=[ingest(1), killed, later])) == {}


def test_ranges_that_do_not_join_or_add_up() -> None:
    """A gap, a wrong sum, and a count that the rows do not confirm are silent losses."""
    gap = replace(GOOD, ranges=[span(0, 6, 1), span(7, 10, 2)], archived={(FIRST, ORDERS): 6, (SECOND, ORDERS): 3})
    assert counts(gap)["silent"] >= 1
    assert counts(replace(GOOD, ranges=[span(0, 6, 1, lost=1), span(6, 10, 2)])) == {"silent": 1}
    assert counts(replace(GOOD, archived={(FIRST, ORDERS): 6})) == {"silent": 1}


def test_a_run_that_calls_itself_complete_and_is_not() -> None:
    """Exit 0 means that everything acknowledged before its start is archived."""
    assert counts(replace(GOOD, runs=[ingest(1, orders=7), ingest(2, orders=10)])) == {"silent": 1}
    assert counts(replace(GOOD, runs=[ingest(1, exit_code=3, orders=7), ingest(2, orders=10)])) == {}


def test_a_topic_that_is_gone() -> None:
    """Its unread records are reported by a row that ends its ranges; a topic that no run could see is nobody's loss."""
    gone = replace(without(8, 9), in_log={}, log_starts={}, deleted={"orders": 1_600})
    gone = replace(gone, ranges=[span(0, 6, 1), span(6, 8, 2)], archived={(FIRST, ORDERS): 6, (SECOND, ORDERS): 2})
    assert counts(replace(gone, runs=[ingest(1), ingest(2)])) == {"silent": 2}
    ended = span(8, 8, 3, problem="TOPIC_DELETED")
    reported = replace(gone, ranges=[*gone.ranges, ended], runs=[ingest(1), ingest(2), ingest(3, exit_code=3)])
    assert counts(reported) == {}
    never_seen = replace(GOOD, committed={**GOOD.committed, CLICKS: {0: sha(0)}}, deleted={"clicks": 1_200})
    assert counts(never_seen) == {}
    assert counts(replace(never_seen, runs=[ingest(1, clicks=1)])) == {}
    assert counts(replace(never_seen, deleted={"clicks": 9_000}, runs=[ingest(1, clicks=1)])) == {"silent": 1}


def test_an_unclean_election() -> None:
    """Acknowledged records may be gone, and only then: the rows must be what the log now has."""
    now = {**RECORDS, 8: sha(80), 9: sha(90)}
    unclean = replace(
        GOOD, in_log={ORDERS: now}, unclean=["orders"], sent={"orders": {*RECORDS.values(), *now.values()}}
    )
    assert counts(unclean) == {"altered": 2}
    replaced = [*(row for row in GOOD.rows if row.offset < 8), *(Row(ORDERS, n, now[n], SECOND) for n in (8, 9))]
    assert counts(replace(unclean, rows=replaced)) == {}
    assert counts(replace(unclean, in_log={ORDERS: {**now, 10: sha(100)}}, rows=replaced)) == {"lost": 1}


def test_what_a_restore_has_written() -> None:
    """It is the archive as it was when the restore began: a prefix of each partition, in order, as the receipts say."""
    archived = [sha(offset) for offset in range(10)]

    def restored(written: list[str], *receipts: int) -> Evidence:
        partition = RestoredPartition(name="r-0", archived=archived, written=written, receipts=receipts)
        return replace(GOOD, restored=[partition])

    assert counts(restored(archived, 10)) == {}
    assert counts(restored(archived[:6], 6)) == {}
    assert counts(restored(archived[:6], 10)) == {"silent": 4}
    assert counts(restored([*archived, *archived[8:]], 12)) == {"doubled": 2}
    assert counts(restored([*archived[:4], archived[5], archived[4]], 6)) == {"altered": 1}


QUIET = Quiet(partitions=1, high_watermark=40, committed_offset=15)
QUIET_ROW = QuietRow(snapshot_id="s1", partition=0, log_start_offset=0, high_watermark=40, committed_offset=15, lag=25)
SHOWN = replace(
    GOOD,
    snapshots=[PublishedSnapshot(snapshot_id="s1", slot="12:00", status="complete")],
    quiet=QUIET,
    quiet_rows=[QUIET_ROW],
)


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        (replace(SHOWN, quiet_rows=[replace(QUIET_ROW, lag=24)]), "altered"),
        (replace(SHOWN, quiet_rows=[replace(QUIET_ROW, high_watermark=39)]), "altered"),
        (replace(SHOWN, quiet_rows=[replace(QUIET_ROW, committed_offset=None)]), "silent"),
        (replace(SHOWN, quiet_rows=[]), "silent"),
        (replace(SHOWN, runs=[Run(job="snapshot", exit_code=3, event={"snapshot_id": "s1"})]), "silent"),
        (replace(SHOWN, runs=[Run(job="snapshot", exit_code=0, event={"snapshot_id": "s2"})]), "silent"),
        (replace(SHOWN, differences=["offsets"]), "altered"),
        (replace(SHOWN, secrets=["output of run 0"]), "secrets"),
        (replace(SHOWN, is_complete=False), "stuck"),
    ],
)
def test_snapshots(changed: Evidence, kind: str) -> None:
    """Wrong values, values that a complete snapshot lacks, exit codes that say something else than the table."""
    assert counts(SHOWN) == {}
    assert counts(changed) == {kind: 1}


def test_a_slot_that_was_published_twice() -> None:
    """A slot has one snapshot."""
    again = PublishedSnapshot(snapshot_id="s2", slot="12:00", status="complete")
    both = replace(
        SHOWN, snapshots=[*SHOWN.snapshots, again], quiet_rows=[QUIET_ROW, replace(QUIET_ROW, snapshot_id="s2")]
    )
    assert counts(both) == {"doubled": 1}


def test_a_partial_snapshot_may_lack_values() -> None:
    """It says that it is partial; what it has must be right."""
    partial = PublishedSnapshot(snapshot_id="s1", slot="12:00", status="partial")
    lacking = replace(SHOWN, snapshots=[partial], quiet_rows=[replace(QUIET_ROW, lag=None, committed_offset=None)])
    assert counts(lacking) == {}
    assert counts(replace(lacking, quiet_rows=[replace(QUIET_ROW, lag=24)])) == {"altered": 1}


def test_rows_that_somebody_has_removed() -> None:
    """They are not missing, their ranges may count them, and they must not be archived again."""
    left = replace(without(7), ranges=GOOD.ranges)
    assert counts(left) == {"lost": 1, "silent": 1}
    erased = replace(left, erased={(SECOND, ORDERS): {7}})
    assert counts(erased) == {}
    assert counts(replace(GOOD, erased={(SECOND, ORDERS): {7}})) == {"doubled": 1}
    assert counts(replace(without(7, 8), ranges=GOOD.ranges, erased=erased.erased)) == {"lost": 1, "silent": 1}


def test_ranges_that_retention_has_removed() -> None:
    """Runs that ended before are no longer compared with ranges, and what is left joins."""
    evidence = replace(
        GOOD,
        rows=rows(range(6, 10), SECOND),
        archived={(SECOND, ORDERS): 4},
        ranges=[span(6, 10, 2)],
        runs=[ingest(1, orders=6), ingest(2, orders=10)],
        erased={(FIRST, ORDERS): set(range(6))},
    )
    assert counts(replace(evidence, ranges_since_ms=1_600)) == {}
    none_left = replace(evidence, ranges=[], rows=[], archived={}, erased={(FIRST, ORDERS): set(range(10))})
    assert counts(none_left) == {}
    assert counts(replace(none_left, runs=[ingest(2, orders=11)])) == {"silent": 1}
    assert counts(replace(none_left, runs=[ingest(2, orders=11)], ranges_since_ms=9_000)) == {}


def test_records_that_were_gone_before_the_ranges_that_retention_has_removed() -> None:
    """Nobody has promised them, and a range without offsets says from where on somebody has."""
    late = replace(GOOD, in_log={}, rows=[], archived={}, ranges=[], runs=[], ranges_since_ms=9_000)
    assert counts(late) == {"silent": 10}
    assert counts(replace(late, archived_from={ORDERS: 10})) == {}
    assert counts(replace(late, archived_from={ORDERS: 4})) == {"silent": 6}
    assert counts(replace(late, archived_from={ORDERS: 4}, erased={(FIRST, ORDERS): set(range(4, 10))})) == {}


def test_an_ingest_that_goes_on_after_a_restore() -> None:
    """Until somebody has said how to go on, no ingest may: neither with exit 0 nor with exit 3."""
    late = replace(ingest(2, orders=10), started_at_ms=2_000)
    rollback = Rollback(at_ms=1_800, has_lost_rows=True)
    evidence = replace(GOOD, runs=[ingest(1, orders=6), late], rollbacks=[rollback])
    assert counts(evidence) == {"silent": 1}
    assert counts(replace(evidence, runs=[replace(late, exit_code=3)])) == {"silent": 1}
    assert counts(replace(evidence, runs=[replace(late, exit_code=1)])) == {}
    assert counts(replace(evidence, runs=[replace(late, options={"after_restore": "repeat"})])) == {}
    assert counts(replace(evidence, rollbacks=[Rollback(at_ms=1_800, has_lost_rows=False)])) == {}
    for end in ({"resolved_at_ms": 1_900}, {"repair_at_ms": 1_900}):
        assert counts(replace(evidence, rollbacks=[replace(rollback, **end)])) == {}


def test_runs_whose_clocks_have_stepped() -> None:
    """Runs and ranges are ordered by number: the time of a range proves nothing."""
    wrong = replace(GOOD, ranges=[span(0, 6, 1), span(6, 10, 2, planned_at_ms=99_000)], has_stepped=True)
    assert counts(replace(wrong, has_stepped=False)) == {"silent": 4}
    assert counts(wrong) == {}
    assert counts(replace(wrong, runs=[ingest(1, orders=10), ingest(2, orders=10)])) == {"silent": 4}
