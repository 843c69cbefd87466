"""Says who may read the files that a command makes: its user alone, unless the settings or the warehouse's folder say more.

Records, reports and plans hold what only the cluster's own permissions may protect otherwise.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_lagoon.owned_files import PRIVATE
from kafka_lagoon.settings import Settings, load, local_folder

_ALL, _OTHERS_WRITE = 0o777, 0o002


def loaded(  # what `settings.load` takes
    conf: Path | None,
    environ: Mapping[str, str],
    overrides: Sequence[str] = (),
    kafka_properties: Path | None = None,
    *,
    cluster_needed: bool = True,
    tables_needed: bool = True,
) -> Settings:
    """The settings; from now on files have the permissions that they say."""
    settings = load(
        conf, environ, overrides, kafka_properties, cluster_needed=cluster_needed, tables_needed=tables_needed
    )
    os.umask(umask_of(settings))
    return settings


def umask_of(settings: Settings) -> int:
    """The setting, else what the folder of an existing warehouse denies: its readers shall be able to read on.

    A folder that everybody may write to, such as one for temporary files, is no reason to let everybody write to tables.
    """
    if settings.umask is not None:
        return int(settings.umask, 8)
    folder = local_folder(settings.warehouse) if settings.warehouse else None
    try:
        return PRIVATE if folder is None else _ALL & ~folder.stat().st_mode | _OTHERS_WRITE
    except OSError:  # there is none yet
        return PRIVATE
