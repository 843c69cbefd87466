"""A survey counts the records of a restore and finds their times; tasks get equal shares."""

from pathlib import Path

from kafka_lagoon.delta.files import DescribedFile
from kafka_lagoon.restore.execution import packed
from kafka_lagoon.restore.survey import Survey, SurveyItem, Times, logged_times, survey_partitions, times_by_topic
from tests.comparisons import Comparisons
from tests.restore.lake import records, wanted, write_files


def test_records_are_counted_with_their_times(tmp_path: Path) -> None:
    """Matching records are counted; a record without a timestamp does not count for the bounds of times."""
    files = write_files(tmp_path, [records(range(5), timestamp_ms=[-1, 7, 5, 9, 100])])
    items = [SurveyItem(wanted(0, 4), files), SurveyItem(wanted(0, 1), files), SurveyItem(wanted(50, 60), files)]
    surveys = survey_partitions(1 << 24, items)
    assert surveys == [Survey(4, Times(5, 9)), Survey(1, None), Survey(0, None)]
    by_partition = {("t", 0): surveys[0], ("t", 1): Survey(1, Times(1, 2)), ("u", 0): surveys[1]}
    assert times_by_topic(by_partition) == {"t": Times(1, 9)}


def test_the_time_to_join_surveys_is_linear() -> None:
    """Each topic was compared with each partition: 10,000 topics of ten partitions took 40 s."""
    survey = Survey(1, Times(1, 2))
    compared = Comparisons()
    by_partition = {
        (compared.counting(f"t{number}"), partition): survey for number in range(50) for partition in range(4)
    }
    joined = list[object]()
    assert compared.during(lambda: joined.append(times_by_topic(by_partition))) < 5 * len(by_partition)
    assert joined == [{f"t{number}": Times(1, 2) for number in range(50)}]


def described(topic: str, last: str, least: int | None) -> DescribedFile:
    """Make a file as the log describes it."""
    bounds = {} if least is None else {"timestamp_ms": least}
    return DescribedFile(url="", size=1, rows=1, least={"topic": topic, **bounds}, greatest={"topic": last, **bounds})


def test_times_in_the_log() -> None:
    """The log's bounds are used only if the files have no other topic and every record has a timestamp."""
    files = {
        "a": [described("a", "a", 5), described("a", "a", 9)],
        "b": [described("b", "b", 5), described("b", "c", 9)],
        "c": [described("c", "c", -1)],
        "d": [described("d", "d", None)],
        "e": [],
    }
    assert logged_times(files) == {"a": Times(5, 9)}


def test_tasks_are_even() -> None:
    """The heaviest item comes first; small items share a task; items without weight are included."""
    assert packed([], lambda _: 1, 2) == []
    tasks = packed([1, 100, 2, 0, 50], lambda weight: weight, 1)
    assert tasks[0] == [100]
    assert sorted(item for task in tasks for item in task) == [0, 1, 2, 50, 100]
    assert len(packed(list(range(1000)), lambda _: 1, 2)) == 8
