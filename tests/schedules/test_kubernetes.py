"""The CronJobs of conf/kubernetes are valid, and agree with image, jobs and settings."""

import json
import subprocess
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from kafka_lagoon import __version__
from kafka_lagoon.cli.terminal import BAD_CONFIGURATION, INCOMPLETE, LOCKED
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.settings_sources import load
from tests.schedules.recipes import container, container_command, cron_jobs, dockerfile, manifests, unit
from tests.tools import is_there, schedules

JOBS = ("snapshot", "ingest", "maintain", "report")
_VALIDATE = """
import json, sys, kubernetes_validate
for document in json.load(sys.stdin):
    kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
"""


def pod(job: str) -> dict[str, Any]:
    """Return the specification of the pods of a CronJob."""
    return dict(cron_jobs()[job]["jobTemplate"]["spec"]["template"]["spec"])


def settings() -> dict[str, Any]:
    """Return the settings of the ConfigMap, including those in comments."""
    (text,) = (item["data"]["lagoon.toml"] for item in manifests() if item["kind"] == "ConfigMap")
    return tomllib.loads(text.replace("# ", ""))


def test_there_is_one_for_each_job() -> None:
    """Each job has a CronJob that runs one at a time, in an image of this version."""
    assert tuple(cron_jobs()) == JOBS
    for job, spec in cron_jobs().items():
        assert spec["concurrencyPolicy"] == "Forbid"
        assert container(job)["image"] == f"kafka-lagoon:{__version__}"


@pytest.mark.parametrize("job", JOBS)
def test_exit_codes(job: str) -> None:
    """Runs that would end in the same way are not retried. Kubernetes reads exit codes only without restarts of containers."""
    spec = cron_jobs()[job]["jobTemplate"]["spec"]
    (rule,) = (rule["onExitCodes"] for rule in spec["podFailurePolicy"]["rules"] if rule["action"] == "FailJob")
    assert rule["values"] == [BAD_CONFIGURATION, INCOMPLETE, LOCKED]
    assert (rule["operator"], rule["containerName"]) == ("In", container(job)["name"])
    assert pod(job)["restartPolicy"] == "Never"
    assert spec["backoffLimit"] > 0


@pytest.mark.parametrize("job", JOBS)
def test_a_run_that_hangs_is_ended(job: str) -> None:
    """It would keep every later one from starting (Forbid). The units of systemd have the same limits."""
    unit_of = {"snapshot": "lagoon-snapshot.service", "report": "lagoon-report.service"}
    limit = unit(unit_of.get(job, "lagoon@.service"))["Service"]["TimeoutStartSec"]
    seconds = {"15min": 900, "30min": 1800, "6h": 21600}[limit]
    assert cron_jobs()[job]["jobTemplate"]["spec"]["activeDeadlineSeconds"] == seconds


@pytest.mark.parametrize("job", JOBS)
def test_what_a_pod_may_do(job: str) -> None:
    """A pod is not root, has no capabilities and no token, and can write only to its volume and to /tmp."""
    assert pod(job)["automountServiceAccountToken"] is False
    assert pod(job)["securityContext"]["runAsNonRoot"] is True
    assert container(job)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = {mount["mountPath"] for mount in container(job)["volumeMounts"] if not mount.get("readOnly")}
    assert writable == {"/var/lib/lagoon", "/tmp"}  # noqa: S108


@pytest.mark.parametrize("job", JOBS)
def test_services_are_no_settings(job: str) -> None:
    """A Service that is called lagoon gives pods LAGOON_PORT, which the settings refuse, unless the pod declines it."""
    with pytest.raises(ConfigError, match="LAGOON_PORT: no such setting"):
        load(None, {"LAGOON_PORT": "tcp://10.0.0.1:80"})
    assert pod(job)["enableServiceLinks"] is False


def slot_of(job: str, folder: Path) -> str | None:
    """Return the slot that the command of the CronJob's pods gives to a `lagoon` of the folder, in a Job of this name."""
    command = folder / "lagoon"
    command.write_text('#!/bin/sh\necho "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-c", container_command("snapshot")],
        env={"JOB_NAME": job, "PATH": f"{folder}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip().partition(" --slot ")[2] or None


@pytest.mark.parametrize(("minutes_ago", "is_slot"), [(0, True), (120, True), (2880, False), (-2880, False)])
def test_a_slot_is_the_minute_in_the_name_of_the_job(tmp_path: Path, minutes_ago: int, *, is_slot: bool) -> None:
    """A number that is no minute of today is no slot."""
    due = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=minutes_ago)
    slot = slot_of(f"lagoon-snapshot-{round(due.timestamp() / 60)}", tmp_path)
    assert slot == (f"{due:%Y-%m-%dT%H:%MZ}" if is_slot else None)


@pytest.mark.parametrize("job", ["by-hand", "snapshot-1", "lagoon-snapshot-20261127"])
def test_a_job_by_hand_has_the_slot_of_its_run(tmp_path: Path, job: str) -> None:
    """Also if its name ends in a date."""
    assert slot_of(job, tmp_path) is None


def test_the_image_is_ours() -> None:
    """Pods run as the user of the image; the image and the settings name the same warehouse, because the image's would win."""
    user = pod("snapshot")["securityContext"]
    assert dockerfile("USER") == [f"{user['runAsUser']}:{user['runAsGroup']}"]
    (image,) = (variables for variables in dockerfile("ENV") if "LAGOON_WAREHOUSE" in variables)
    assert f"LAGOON_WAREHOUSE={settings()['warehouse']}" in image.split()


def test_the_settings_are_settings_of_ours() -> None:
    """The ConfigMap can be loaded, with its commented lines too, and the warehouse is on the volume."""
    given = settings()
    mounted = {mount["mountPath"] for mount in container("snapshot")["volumeMounts"]}
    assert str(PurePosixPath(given["warehouse"]).parent) in mounted
    kafka = [f"kafka.{name}={value}" for name, value in given["kafka"].items()]
    others = [f"ingest.pattern={given['ingest']['pattern']}", f"warehouse={given['warehouse']}"]
    assert list(load(None, {}, [*others, *kafka]).named_clusters()) == ["default"]


@pytest.mark.proof
def test_the_schema_of_kubernetes() -> None:
    """Every object is valid by Kubernetes' own schema, without unknown fields."""
    for documents, code in ((manifests(), 0), ([{**manifests()[2], "spec": {"schedul": "x"}}], 1)):
        done = subprocess.run(
            [is_there(schedules()), "-c", _VALIDATE],
            input=json.dumps(documents),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
