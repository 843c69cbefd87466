"""systemd accepts the units of conf/systemd."""

import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kafka_lagoon.cli.file_modes import umask_of
from kafka_lagoon.owned_files import PRIVATE
from kafka_lagoon.settings_sources import load
from tests.schedules.recipes import UNITS, unit


def test_each_timer_starts_a_unit_that_there_is() -> None:
    """The unit is named like the timer, or by Unit=; each job that needs a schedule has a timer."""
    started = {}
    for timer in UNITS.glob("*.timer"):
        started[timer.stem] = unit(timer.name)["Timer"].get("Unit", f"{timer.stem}.service")
    assert started == {
        "lagoon-snapshot": "lagoon-snapshot.service",
        "lagoon-ingest": "lagoon@ingest.service",
        "lagoon-maintain": "lagoon@maintain.service",
        "lagoon-report": "lagoon-report.service",
    }
    for service in started.values():
        assert (UNITS / re.sub("@.*[.]", "@.", service)).is_file()


@pytest.mark.parametrize("name", ["Europe/Berlin", "Europe/Helsinki", "America/New_York", "Australia/Sydney"])
def test_a_daily_timer_has_its_time_on_each_day(name: str) -> None:
    """When daylight saving time begins, systemd skips a time that the day does not have, and with it the run."""
    zone = ZoneInfo(name)
    for timer in ("lagoon-maintain.timer", "lagoon-report.timer"):
        hour, minute = map(int, unit(timer)["Timer"]["OnCalendar"].split(":"))
        for day in range(366):
            due = datetime(2028, 1, 1, hour, minute) + timedelta(days=day)  # noqa: DTZ001  of the clock on the wall
            assert due.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == due


def test_the_services_have_one_sandbox() -> None:
    """Every service file has the same sandbox settings."""
    services = [dict(unit(path.name)["Service"]) for path in UNITS.glob("*.service")]
    for settings in services:
        del settings["ExecStart"], settings["TimeoutStartSec"]
    assert len(services) == 3
    assert all(settings == services[0] for settings in services)


def test_tables_in_the_state_directory_are_private(tmp_path: Path) -> None:
    """New files in /var/lib/lagoon are for the user alone: systemd sets the mode of that folder at each start, by default 0755."""
    for path in UNITS.glob("*.service"):
        service = unit(path.name)["Service"]
        (lake := tmp_path / path.stem).mkdir()
        lake.chmod(int(service.get("StateDirectoryMode", "0755"), 8))
        settings = load(None, {}, [f"warehouse={lake}"], cluster_needed=False)
        assert umask_of(settings) == int(service["UMask"], 8) == PRIVATE


@pytest.mark.proof
def test_systemd_accepts_them(tmp_path: Path) -> None:
    """`systemd-analyze verify` prints nothing, and `security` rates each service as well confined."""
    if not shutil.which("systemd-analyze"):
        pytest.fail("There is no systemd-analyze, which verifies units: apt-get install systemd")
    for source in UNITS.iterdir():
        lines = source.read_text().replace("/opt/kafka-lagoon/.venv/bin/lagoon", "/bin/true")
        for instance in ("ingest", "maintain"):
            (tmp_path / source.name.replace("@.", f"@{instance}.")).write_text(lines)
    units = sorted(str(path) for path in tmp_path.glob("lagoon*"))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")
    for service in tmp_path.glob("*.service"):
        rated = subprocess.run(
            ["systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=35", service],
            capture_output=True,
            text=True,
            check=False,
        )
        assert rated.returncode == 0, rated.stdout
