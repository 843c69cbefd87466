"""An environment of `pip install 'kafka-lagoon[records]'`, all of it in one folder, and packed for executors."""

import subprocess
from importlib.metadata import PathDistribution
from pathlib import Path

from tests.installed import CLONE, closure, hard_link, install_wheel


def pack(folder: Path) -> Path:
    """Make the archive of conf/pack-environment.sh; its packages are those of the tests' environment."""
    environment, site = install_wheel(folder)
    (metadata,) = site.glob("kafka_lagoon-*.dist-info")
    for package in closure(PathDistribution(metadata), ["records"]).values():
        for file in package.files or ():
            if file.parts[0] != ".." and not (site / file).exists():
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                hard_link(str(package.locate_file(file)), str(site / file))
    archive = folder / "lagoon.tar.gz"
    script = CLONE / "conf" / "pack-environment.sh"
    subprocess.run(["/bin/sh", script, environment, archive], check=True, env={"PATH": "/usr/bin:/bin"})
    return archive
