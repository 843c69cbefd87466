"""Files of conf/ for clusters agree with the package: names of files, versions, and hidden settings."""

from pathlib import Path
from typing import Any

import yaml

from kafka_lagoon import __version__
from kafka_lagoon.job_settings import IngestSettings
from tests.installed import CLONE

CONF = CLONE / "conf"
MB_OF_A_WORKER = 600  # in addition to its executor's JVM; measured by tests/bench/large_ingest.py


def properties(name: str) -> dict[str, str]:
    """Read Spark's settings of a file."""
    lines = (line.strip() for line in (CONF / name).read_text().splitlines())
    pairs = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {name: value.strip() for name, value in pairs}


def manifest() -> dict[str, Any]:
    """Return the spec of the SparkApplication."""
    spec: dict[str, Any] = yaml.safe_load((CONF / "kubernetes" / "spark-application.yaml").read_text())["spec"]
    return spec


def test_secrets_are_hidden_everywhere() -> None:
    """Settings that Spark redacts on one machine are redacted on a cluster, too."""
    local, cluster = properties("spark-defaults.conf"), properties("cluster.conf")
    hidden = {name: value for name, value in local.items() if "redaction" in name}
    assert len(hidden) == 2
    assert {name: cluster.get(name) for name in hidden} == hidden
    assert manifest()["sparkConf"]["spark.redaction.regex"] == hidden["spark.redaction.regex"]


def test_executors_have_memory_for_their_workers() -> None:
    """There is memory for one worker per core besides the JVM, with the default task memory of the settings."""
    assert IngestSettings().task_memory_mb == 256
    cluster, executor = properties("cluster.conf"), manifest()["executor"]
    for cores, overhead in (
        (int(cluster["spark.executor.cores"]), cluster["spark.executor.memoryOverhead"]),
        (executor["cores"], executor["memoryOverhead"]),
    ):
        assert overhead == f"{cores * MB_OF_A_WORKER}m"


def test_the_manifest_runs_a_job_of_this_version() -> None:
    """The script is in jobs/, the image has this version, and its Spark is the release that Delta's jars need."""
    spec = manifest()
    assert (CLONE / "jobs" / Path(spec["mainApplicationFile"]).name).is_file()
    assert spec["image"].endswith(f":{__version__}")
    assert spec["sparkVersion"].startswith("4.2.")
    assert "delta-spark_4.2_2.13:4.4.0" in (CONF / "kubernetes" / "spark-application.yaml").read_text()


def test_services_are_no_settings_of_the_driver() -> None:
    """The operator's own Service lagoon-ingest-ui-svc gives no variable LAGOON_... to the driver."""
    assert manifest()["driver"]["template"]["spec"]["enableServiceLinks"] is False
