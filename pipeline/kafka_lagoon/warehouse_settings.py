"""Tells from the settings how a run reaches the warehouse, and if it may create one."""

import os
from pathlib import Path

from kafka_lagoon.settings import Settings
from kafka_lagoon.warehouse_urls import in_s3, local_folder

_OF_A_PLATFORM = ("PYSPARK_GATEWAY_PORT", "HADOOP_CONF_DIR")


def own_folder(settings: Settings) -> Path | None:
    """The folder of the tables; None if they are elsewhere, or paths may mean another default file system of Spark.

    If PYSPARK_GATEWAY_PORT is set, spark-submit has started a JVM, whose settings may name another default file system.
    """
    is_ours = settings.warehouse is not None and os.environ.keys().isdisjoint(_OF_A_PLATFORM)
    return local_folder(settings.warehouse) if is_ours and settings.warehouse else None


def opens_without_session(settings: Settings) -> bool:
    """True if a JVM without a session of Spark may reach the tables: in a folder of this machine, or in a bucket of S3.

    Whoever gives Spark arguments of its own (PYSPARK_SUBMIT_ARGS) may have named there what a bucket needs.
    """
    if own_folder(settings) is not None:
        return True
    is_ours = os.environ.keys().isdisjoint((*_OF_A_PLATFORM, "PYSPARK_SUBMIT_ARGS"))
    return is_ours and settings.warehouse is not None and in_s3(settings.warehouse)


def creation_fault(settings: Settings) -> str | None:
    """Why a run must not create the warehouse of these settings; None if it may, or if the warehouse is there.

    Only folders that this process reaches by itself are checked; `delta/warehouse.py` checks the others.
    """
    folder = own_folder(settings)
    if settings.create or folder is None or os.path.lexists(folder):
        return None
    try:
        return None if not any(folder.parent.iterdir()) else no_warehouse(str(folder))
    except FileNotFoundError:
        return no_warehouse(str(folder))
    except OSError:  # the run cannot create it, and says so
        return None


def no_warehouse(place: str) -> str:
    """The line about a warehouse that is not created."""
    return (
        f"warehouse: there is no {place}, and only --create, or create = true in the settings, creates it: "
        "a typo would start a second history"
    )
