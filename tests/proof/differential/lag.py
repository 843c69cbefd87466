"""Compares samples of lag with the times of a producer and of groups, which say what the truth may have been.

A case is a topic under load, and 250 samples of all its groups and partitions. What happens in between differs from run to run.
"""

from random import Random

from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.lag_under_load import LoadTimes, Sample, complaints, connected, load, sample, sample_by_verb
from tests.integration.state import create_topics
from tests.proof.differential.report import Cases, Report

NAME = "lag"
_SAMPLES = 250
_BY_VERB = 25  # one of so many samples


def compare_lag(cases: Cases, report: Report) -> None:
    """Sample each topic under its load."""
    with report.folder(NAME) as folder, LocalKafka(folder / "kafka") as kafka:
        for number in cases.numbers:
            with report.judging(NAME, number):
                _compare(kafka, Random(cases.seed_of(NAME, number)), number, report)


def _compare(kafka: LocalKafka, random: Random, number: int, report: Report) -> None:
    topic, partitions = f"{NAME}-{number}", random.randrange(1, 5)
    groups = {f"{topic}-{one}": random.choice((0, 3, 50, -4)) for one in range(random.randrange(1, 4))}
    create_topics(kafka.bootstrap_servers, [NewTopic(topic, partitions, 1)])
    with load(kafka, topic, partitions, groups, f"{random.random()}") as times, connected(kafka) as cluster:
        for place in range(_SAMPLES):
            by_verb = place % _BY_VERB == 0
            taken = sample_by_verb(kafka, topic, groups) if by_verb else sample(cluster, topic, groups)
            judge(taken, times, number, report)
            report.happened["samples of lag by lagoon kafka lag"] += by_verb


def judge(taken: list[Sample], times: LoadTimes, number: int, report: Report) -> None:
    """Compare the rows of one sample with the times."""
    missing = times.commits.keys() - {(one.group_id, one.partition) for one in taken}
    if missing:
        report.differ(NAME, number, f"no row of {sorted(missing)}")
    for row in taken:
        for complaint in complaints(row, times):
            report.differ(NAME, number, complaint)
        report.happened["rows of lag that are negative, by commits after the end"] += (row.lag or 0) < 0
        report.happened["rows of lag whose bounds differ"] += row.lag != row.lag_lower_bound
    report.compared["samples of lag"] += 1
    report.compared["rows of lag"] += len(taken)
