"""Puts the jars of a lock file on the class path of this environment's Spark."""

import shutil
from pathlib import Path

from kafka_lagoon.errors import JarsUnavailable
from kafka_lagoon.jars.ivy import spark_jars_folder
from kafka_lagoon.jars.locked_jars import jar_paths, locked


def install_into_spark(lock: str) -> Path:
    """Copy the jars into PySpark's own folder and remove other revisions of them; returns the folder.

    A plain spark-submit then has them without --packages, which would resolve them at every start. JarsUnavailable if the
    folder cannot be written, for example if the system installed PySpark.
    """
    folder = spark_jars_folder()
    try:
        _install(lock, folder)
    except OSError as error:
        raise JarsUnavailable(f"{error.filename or folder}: {error.strerror}") from error
    return folder


def _install(lock: str, folder: Path) -> None:
    for jar, path in zip(locked(lock), jar_paths(lock), strict=True):
        for old in folder.glob(f"{jar.name}-[0-9]*.jar"):
            if old.name != jar.file_name():
                old.unlink()
        shutil.copyfile(path, folder / f"{path.name}.part")
        (folder / f"{path.name}.part").replace(folder / path.name)
