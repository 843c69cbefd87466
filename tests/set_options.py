"""Settings of a cluster as `--set` options; secrets are in files, because commands refuse them as text."""

import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from kafka_lagoon.kafka_settings import SECRETS

_FOLDER = tempfile.TemporaryDirectory(prefix="secrets-of-tests-")


def set_options(settings: Mapping[str, str | bool]) -> list[str]:
    """Return `--set kafka.NAME=VALUE` for each setting."""
    return [word for name, value in settings.items() for word in ("--set", f"kafka.{name}={_given(name, value)}")]


def _given(name: str, value: str | bool) -> str | bool:
    if name not in SECRETS or not isinstance(value, str) or value.startswith(("env:", "file:")):
        return value
    file = Path(_FOLDER.name) / sha256(value.encode()).hexdigest()[:16]
    file.write_text(value)
    return f"file:{file}"
