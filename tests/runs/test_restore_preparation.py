"""A restore is prepared from what the archive, the newest snapshots and the target say, before anything is sent."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_lagoon.delta.files import DescribedFile, add_action, described_file
from kafka_lagoon.delta.record_files import RecordFiles
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.range_history import SupersededRange
from kafka_lagoon.job_settings import RestoreSettings
from kafka_lagoon.restore.archived import ArchivedTopic
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.saved_state import Alterations
from kafka_lagoon.restore.survey import Times
from kafka_lagoon.restore.target import TargetTopic, verdict
from kafka_lagoon.runs import restore_preparation
from kafka_lagoon.runs.restore_preparation import RestoreSource, added, requested_topics
from kafka_lagoon.runs.restore_run import RestoreRun
from tests.restore.lake import CLUSTER_ID, TOPIC_ID, records, wanted
from tests.runs.heard import Heard

NOW_MS, DAY_MS = 1_800_000_000_000, 86_400_000
OLD_MS, NEW_MS = NOW_MS - 300 * DAY_MS, NOW_MS - DAY_MS


def a_run(**arguments: Any) -> RestoreRun:
    """Make a run that reads and sends nothing."""
    request = RestoreRequest(from_cluster="old", to_cluster="new", **arguments)
    return cast("RestoreRun", SimpleNamespace(request=request, warehouse=None))


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_topics_of_a_pattern_keep_names_apart(monkeypatch: pytest.MonkeyPatch, is_dry_run: bool) -> None:
    """A topic that the pattern adds may not get the name that another one gets; each is named, and it is known at once."""
    monkeypatch.setattr(restore_preparation, "matching_topics", lambda *_: ["orders", "orders-copy", "orders-eu"])
    arguments = {"topics": ("orders",), "pattern": "orders.*", "is_dry_run": is_dry_run}
    assert requested_topics(a_run(**arguments)) == ["orders", "orders-copy", "orders-eu"]
    with pytest.raises(ConfigError) as raised:
        requested_topics(a_run(renames={"orders": "orders-copy"}, **arguments))
    assert raised.value.problems == ("--rename: several topics would become orders-copy: orders, orders-copy",)


def test_acls_of_all_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of topics that only the pattern names are created, too, as those of the others."""
    about: list[Any] = []
    monkeypatch.setattr(
        restore_preparation, "acl_creations", lambda *arguments: about.append(arguments[3]) or Alterations()
    )
    run = a_run(topics=("t",), pattern="u", with_acls=True)
    more = {"cluster": None, "deadline": lambda: None}
    source = RestoreSource(topics=[TOPIC, replace(TOPIC, topic="u")], files={})
    added(cast("RestoreRun", SimpleNamespace(**vars(run), **more)), cast("Any", None), "s0", source, {})
    assert about == [["t", "u"]]


def stored(folder: Path, **columns: Sequence[Any]) -> list[DescribedFile]:
    """Ten records of topic t in a file, five of them old, as the log describes it."""
    files = RecordFiles(
        folder_url=f"file:{folder}",
        ingest_id="0192-0001",
        cluster="name",
        cluster_id=CLUSTER_ID,
        target_bytes=1 << 30,
        compression="zstd-fast",
    )
    files.write("t", TOPIC_ID, 0, records(range(10), timestamp_ms=[OLD_MS] * 5 + [NEW_MS] * 5, **columns))
    adds = [
        json.loads(add_action(file, file.url, ("ingest_date", date(2026, 11, 21))))["add"] for file in files.close()
    ]
    return [described_file("", add) for add in adds]


TOPIC = ArchivedTopic(
    cluster_id=CLUSTER_ID,
    topic="t",
    topic_id=TOPIC_ID,
    other_ids=(),
    partitions={0: wanted(0, 10)},
    records={0: 10},
    codecs=frozenset(),
)
WEEK = TargetTopic(
    name="t", topic_id=None, partitions=1, logs={}, configs={"retention.ms": str(7 * DAY_MS)}, exists=False
)
NOT_ALL = [
    TOPIC.only([0], f"(timestamp_ms >= {NEW_MS})"),
    TOPIC.only([0], '"offset" >= 5'),
    replace(TOPIC, partitions={0: wanted(5, 10)}, records={0: 5}),
    replace(
        TOPIC,
        partitions={0: wanted(0, 10, superseded=(SupersededRange(ingest_id="0192-0001", from_offset=0, to_offset=5),))},
    ),
]


@pytest.mark.parametrize("topic", NOT_ALL, ids=["from", "where", "range", "superseded"])
def test_times_are_those_of_the_chosen_records(tmp_path: Path, topic: ArchivedTopic) -> None:
    """Old records in the same files are no fault of a restore that leaves them out; a dry run finds the same."""
    for is_dry_run in (True, False):
        times, read = times_of(topic, stored(tmp_path), is_dry_run=is_dry_run)
        assert (times, read) == ({"t": Times(NEW_MS, NEW_MS)}, 5)
        assert verdict(a_run().request, [(topic, WEEK)], NOW_MS, times, {}).faults == []
    aborted = stored(tmp_path, is_aborted=[True] * 5 + [False] * 5)
    assert times_of(TOPIC, aborted) == ({"t": Times(NEW_MS, NEW_MS)}, 5)


def test_times_of_the_log(tmp_path: Path) -> None:
    """They do where they make no fault, or where all rows are chosen: then no record is read."""
    files = stored(tmp_path)
    every = Times(OLD_MS, NEW_MS)
    assert times_of(TOPIC, files) == ({"t": every}, 0)
    faults = verdict(a_run().request, [(TOPIC, WEEK)], NOW_MS, {"t": every}, {}).faults
    assert len(faults) == 1
    assert times_of(NOT_ALL[0], files, replace(WEEK, configs={})) == ({"t": every}, 0)
    by_brokers = {**WEEK.configs, "message.timestamp.type": "LogAppendTime"}
    assert times_of(NOT_ALL[0], files, replace(WEEK, configs=by_brokers)) == ({"t": every}, 0)


def times_of(
    topic: ArchivedTopic, files: Sequence[DescribedFile], target: TargetTopic = WEEK, *, is_dry_run: bool = False
) -> tuple[Any, int]:
    """Return the times of the records, and how many were read."""
    run = SimpleNamespace(
        request=a_run(is_dry_run=is_dry_run).request,
        warehouse=SimpleNamespace(
            session=None, locations={"records": "file:"}, kernel=SimpleNamespace(storage=SimpleNamespace())
        ),
        limits=RestoreSettings(),
        steps=Heard(),
    )
    source = RestoreSource(topics=[topic], files={"t": files})
    return restore_preparation._times(cast("RestoreRun", run), source, {"t": target}, NOW_MS)
