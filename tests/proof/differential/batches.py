"""Compares record batches with Kafka's MemoryRecords of both releases.

A case is a hundred batches that one release writes and the other one reads, the same batches damaged, and ten that we write. What
Java writes is read by the fast decoder, the reference decoder and Java.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from random import Random
from typing import Any

from kafka_lagoon.records.compressing import CODECS
from tests.oracle.generated import damaged
from tests.oracle.jars import KAFKAS
from tests.oracle.memory_records import JavaRecords, java_records
from tests.oracle.our_batches import any_batch, check_read, described, of_columns, of_tuples
from tests.oracle.test_records import compare
from tests.oracle.test_records import described as drawn_batches
from tests.proof.differential.report import Cases, Report

NAME = "batches"
_OF_JAVA, _OURS = 100, 10
_SIZES = (1, 1, 2, 3, 10, 40, 130)


def compare_batches(cases: Cases, report: Report) -> None:
    """Compare what Java writes and what we write."""
    with ExitStack() as running:
        kafkas = [running.enter_context(java_records(kafka)) for kafka in KAFKAS]
        for number in cases.numbers:
            random = Random(cases.seed_of(NAME, number))
            ordered = kafkas if number % 2 else kafkas[::-1]
            compare_written_by_java(ordered, random, number, report)
            compare_written_by_us(ordered[0], random, number, report)


def compare_written_by_java(kafkas: Sequence[JavaRecords], random: Random, number: int, report: Report) -> None:
    """The first release writes, whole and damaged; the second one reads, and both our decoders."""
    writer, reader = kafkas
    (batches,) = drawn_batches(random, _OF_JAVA)
    whole = [raw for raw in writer.build(batches) if raw]
    buffers = whole + [damaged(random, raw) for raw in whole]
    for place, (raw, answer) in enumerate(zip(buffers, reader.read(buffers), strict=True)):
        with report.judging(NAME, number):
            result = compare(raw, answer)
            # A whole batch is refused by nobody, but for the one that the reference decoder does not know.
            assert place >= len(whole) or result in _OF_WHOLE, f"{result}: {raw.hex()}"
            report.happened[f"batches of Java: {result}"] += 1
    report.compared["batches of Java"] += len(buffers)


_OF_WHOLE = {"same rows", "no rows", "lz4 in magic 0, which the reference decoder does not know"}


def compare_written_by_us(kafka: JavaRecords, random: Random, number: int, report: Report) -> None:
    """Both our encoders write; Java writes the same bytes without a codec, and reads the same records with each."""
    batches = [any_batch(random, random.choice(_SIZES)) for _ in range(_OURS)]
    codecs = [random.choice(list(CODECS.values())) for _ in batches]
    written = [of_columns(made, codec) for made, codec in zip(batches, codecs, strict=True)]
    answers = kafka.read(written)
    by_java = kafka.build([described(made) for made in batches])
    for place, made in enumerate(batches):
        with report.judging(NAME, number):
            check_same(of_tuples(made), of_columns(made), by_java[place])
            assert of_tuples(made, codecs[place]) == written[place], (
                f"the encoders differ with codec {codecs[place]}: {made}"
            )
            check_read(made, answers[place])
    report.compared["batches of ours"] += len(batches)


def check_same(*encoded: bytes) -> Any:
    """AssertionError if the bytes differ."""
    assert len(set(encoded)) == 1, f"of tuples, of columns, by Java: {[raw.hex() for raw in encoded]}"
