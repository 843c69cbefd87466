"""A soak: a load that goes on, jobs at their times, faults between them, and at the end everything that was wrong."""

import random
import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tests.proof.history import History
from tests.proof.judge import judge
from tests.proof.oracle_tables import ReadTables
from tests.proof.play.cluster import Cluster3
from tests.proof.play.player import Player
from tests.proof.soak import disk
from tests.proof.soak.bounds import Observed, Period, wrong_rows
from tests.proof.soak.endings import COMPLETE, DIFFERENT, problem
from tests.proof.soak.faults import Faults
from tests.proof.soak.levels import Level, Series, levels
from tests.proof.soak.readers import Lister, Reader
from tests.proof.soak.runs import Gate, Lane, Runs
from tests.proof.soak.threads import Looping, Threads
from tests.proof.verdict import KINDS

SNAPSHOT_S, INGEST_S, MAINTAIN_S, RESTORE_S = 60, 120, 600, 900
_FIRST_RESTORE_S = 180
_LOAD_S = 20
_TOPICS = {"orders": ("plain", 3), "payments": ("transactional", 3), "prices": ("compacted", 2), "clicks": ("short", 2)}
_PER_SECOND = 20  # records of each topic
_ARCHIVED = "archived"  # a topic that does not change, so that each restore of it is the same work
_ARCHIVED_RECORDS = 3_000
_RESTORED = (_ARCHIVED, "orders", _ARCHIVED, "payments", _ARCHIVED, "prices")
_KEEPS_INGESTS = 4  # retention of the short topic
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_AGAIN, _AGAIN_AFTER_S = 8, 1.0  # runs until one ends with exit 0
_SLOW, _FAST = 15, 1_000  # records a second of the groups
_CHECKPOINTS_EVERY = 5
_SHOWN = 20  # findings of a kind
OWN_KINDS = ("exit codes", "growth", "lag", "left behind")


@dataclass(slots=True)
class Findings:
    """Violations by kind; the first ones are printed when they are found."""

    texts: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in (*OWN_KINDS, *KINDS)})

    def add(self, kind: str, text: str) -> None:
        """Note one."""
        self.texts[kind].append(text)
        if len(self.texts[kind]) <= _SHOWN:
            print(f"VIOLATION {kind}: {text}", flush=True)

    def counts(self) -> dict[str, int]:
        """Count them by kind."""
        return {kind: len(texts) for kind, texts in self.texts.items()}


class Soak:
    """A soak on a cluster; its schedule is `pace` times as quick as the usual one."""

    def __init__(self, on: Cluster3, seed: int, pace: float) -> None:
        self.findings = Findings()
        self.compared: list[Level] = []
        self.read = self.lag_rows = 0
        self.player = Player(on, History(f"soak-{seed}", ()))
        self._chance = random.Random(f"soak-{seed}")
        self._pace, self._servers = pace, on.kafka.bootstrap_servers
        self.runs = Runs(self.player, on.folder / f"soak-{seed}" / "runs")
        self._observed, self._gate = Observed(), Gate()
        self.faults = Faults(self.player, random.Random(f"faults-{seed}"), list(_TOPICS), self._observed.faults)
        self._sizes: dict[str, list[disk.Size]] = defaultdict(list)
        self._slots: dict[int, Period] = {}  # of snapshots, by their slot in milliseconds
        self._restores = 0
        self._restore_at = time.monotonic() + _FIRST_RESTORE_S / pace

    @property
    def warehouse(self) -> Path:
        """The folder of the tables."""
        return self.player.world.place.lake.folder

    def run(self, seconds: float) -> None:
        """Play for so long, and judge."""
        self._prepare()
        acting, watching = Threads(), Threads()
        topics = list(self.player.topics.live.values())
        lister = Lister(self._servers, topics, self._observed)
        watching.start(lister)
        readers = [self._reader(name, speed) for name, speed in (("slow", _SLOW), ("fast", _FAST))]
        works: list[Looping] = [*readers, *self._lanes(), self.faults]
        for work in works:
            acting.start(work)
        acting.over.wait(seconds)
        acting.end()
        self.read = sum(reader.records for reader in readers)
        self._end(lister, watching)

    def _prepare(self) -> None:
        """Make the topics, and the tables with logs that keep commits for minutes."""
        self.player.topics.prepare()
        for name, (kind, partitions) in {**_TOPICS, _ARCHIVED: ("transactional", 2)}.items():
            self.player.topics.topic(name, kind, partitions)
        keep_ms = round(_KEEPS_INGESTS * INGEST_S * 1000 / self._pace)
        self.player.world.alter(self.player.topics.live["clicks"].name, "retention.ms", str(keep_ms))
        self.player.topics.transactions(_ARCHIVED, _ARCHIVED_RECORDS, 100, 1, "lz4", 500)
        self.player.world.loads.wait([_ARCHIVED])
        self._snapshot()
        self._ingest()
        minutes = max(1, round(MAINTAIN_S / self._pace / 60))
        for table in disk.tables(self.warehouse):
            disk.keep_commits_for(table, minutes, _CHECKPOINTS_EVERY)

    def _reader(self, name: str, per_second: int) -> Reader:
        group = f"{self.player.world.place.prefix}{name}"
        names = [self.player.topics.live[topic].name for topic in _TOPICS]
        return Reader(self._servers, group, names, per_second, self._observed)

    def _lanes(self) -> list[Lane]:
        pace = self._pace
        return [
            Lane(self._load, _LOAD_S, 0),
            Lane(self._snapshot, SNAPSHOT_S / pace, 5),
            Lane(self._archive, INGEST_S / pace, 10),
            Lane(self._maintain, MAINTAIN_S / pace, MAINTAIN_S / pace),
        ]

    # Lanes

    def _load(self) -> None:
        for topic, (kind, _) in _TOPICS.items():
            wanted = (topic, _LOAD_S * _PER_SECOND, 200, _LOAD_S, self._chance.choice(_CODECS))
            if kind == "transactional":
                self.player.topics.transactions(*wanted, each=_PER_SECOND)
            else:
                self.player.topics.load(*wanted)

    def _snapshot(self) -> None:
        """Take a snapshot of now; a slot whose run was killed is tried once more."""
        minutes = int(time.time() - self.player.world.place.started_at) / 60
        slot_ms = int(self.player.world.place.started_at + 60 * minutes) * 1000
        for _ in range(2):
            with self._gate.shared():
                ending = self.runs.run("snapshot", "snapshot", slot=-minutes)
            start_ms = self._slots.get(slot_ms, ending.period).start_ms
            self._slots[slot_ms] = Period(start_ms, ending.period.end_ms)
            if ending.exit_code >= 0:
                return

    def _archive(self) -> None:
        """Ingest; at the times of restores restore a topic afterwards, while its archive does not change."""
        self._ingest()
        if time.monotonic() >= self._restore_at:
            self._restore_at = time.monotonic() + RESTORE_S / self._pace
            self._restore(_RESTORED[self._restores % len(_RESTORED)])

    def _ingest(self) -> None:
        with self._gate.shared():
            self.runs.run("ingest", "ingest", by_executors=0)

    def _restore(self, topic: str) -> None:
        """Restore a topic under another name, and compare it with the archive."""
        self._restores += 1
        source = self.player.topics.live[topic].name
        target = f"restored-{self._restores}-{source}"
        of = "" if topic == _ARCHIVED else " of a growing topic"
        is_restored = self._until_complete(f"restore{of}", "restore", topic=source, target=target)
        if not is_restored:
            self.findings.add("stuck", f"restore of {topic}: {_AGAIN} runs, and none ended with exit 0")
        else:
            self._until_complete(f"compare{of}", "compare", topic=source, target=target)
        self.player.topics.delete([target])

    def _until_complete(self, name: str, job: str, **options: str) -> bool:
        for _ in range(_AGAIN):
            with self._gate.shared():
                code = self.runs.run(name, job, **options).exit_code
            if code == COMPLETE or (job == "compare" and code == DIFFERENT):
                return code == COMPLETE
            time.sleep(_AGAIN_AFTER_S)
        return False

    def _maintain(self) -> None:
        """Maintain beside other jobs, then alone and without a time for which files are kept; measure what is left."""
        with self._gate.shared():
            self.runs.run("maintain", "maintain", keep_hours=168)
        with self._gate.alone():
            codes = (self.runs.run("maintain alone", "maintain", keep_hours=0).exit_code for _ in range(_AGAIN))
            if COMPLETE in codes:
                self._check_disk()
                for table in disk.tables(self.warehouse):
                    self._sizes[table.name].append(disk.size(table))
            else:
                self.findings.add("stuck", f"maintenance: {_AGAIN} runs, and none ended with exit 0")

    def _check_disk(self) -> None:
        """Find what is left behind, while no job runs."""
        for table in disk.tables(self.warehouse):
            self._left(f"in table {table.name} and in no version of it", disk.unneeded(table))
        self._left("temporary in the warehouse", disk.temporary(self.warehouse))
        self._left("a lock that is held", list(disk.held(self.warehouse)))

    def _left(self, what: str, paths: list[Path]) -> None:
        for path in paths:
            self.findings.add("left behind", f"{path.relative_to(self.warehouse)}, {what}")

    # The end

    def _end(self, lister: Lister, watching: Threads) -> None:
        """End all faults, run the jobs until exit 0, and judge."""
        self.player.mend()
        clicks = self.player.topics.live["clicks"].name
        self.player.world.alter(clicks, "retention.ms", "-1")  # nothing may change while it is judged
        minutes = (time.time() - self.player.world.place.started_at) / 60
        self.player.last_slot = -(minutes + 1)
        evidence = self.player.end()
        watching.end()
        lister.list_once()
        for finding in judge(evidence).findings:
            self.findings.add(finding.kind, f"{finding.count}: {finding.text}")
        code = self.player.world.jobs.undisturbed("maintain", {}, keep_hours=0).exit_code
        if code != COMPLETE:
            self.findings.add("exit codes", f"maintenance after everything ended with exit {code}")
        for check in (self._check_disk, self._judge_lag, self._judge_runs, self._judge_growth):
            check()

    def _judge_lag(self) -> None:
        tables = ReadTables(self.warehouse)
        snapshots, rows = tables.snapshots(), tables.lag_rows()
        tables.close()
        periods = {one.snapshot_id: self._slots[int(one.slot)] for one in snapshots if int(one.slot) in self._slots}
        for run in self.player.world.jobs.runs:
            snapshot_id = run.event.get("snapshot_id")
            if run.job == "snapshot" and snapshot_id and snapshot_id not in periods:
                periods[snapshot_id] = Period(run.started_at_ms, run.ended_at_ms)
        complete = {one.snapshot_id: one.status == "complete" for one in snapshots}
        for text in wrong_rows(rows, self._observed, periods, complete):
            self.findings.add("lag", text)
        self.lag_rows = len(rows)

    def _judge_runs(self) -> None:
        for done in self.runs.done:
            if text := problem(done.ending, self.faults.periods):
                self.findings.add("exit codes", text)
            of_run = f"of run {done.ending.number}, {done.ending.job}"
            for name in done.temporary:
                self.findings.add("left behind", f"temporary file {name} {of_run}")
            if done.used.left:
                self.findings.add("left behind", f"{done.used.left} processes {of_run}")

    def _judge_growth(self) -> None:
        of_tables = (growth(table, sizes) for table, sizes in self._sizes.items())
        figures = {name: series for of_one in (self.runs.figures(), *of_tables) for name, series in of_one.items()}
        self.compared = list(levels(figures))
        for grown in self.compared:
            if not grown.is_level:
                self.findings.add("growth", str(grown))


def growth(table: str, sizes: list[disk.Size]) -> dict[str, Series]:
    """Make the figures of a table: a log must not grow, and data must not grow faster."""
    added = [(after.files - before.files, after.bytes - before.bytes) for before, after in pairwise(sizes)]
    return {
        f"log of {table}: files": Series("files", 12, [one.log_files for one in sizes]),
        f"log of {table}: size": Series("KiB", 64, [one.log_bytes / 1024 for one in sizes]),
        f"{table}: pending files": Series("files", 2, [one.pending for one in sizes]),
        f"{table}: files added": Series("files", 12, [files for files, _ in added]),
        f"{table}: size added": Series("KiB", 256, [size / 1024 for _, size in added]),
    }
