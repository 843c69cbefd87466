"""Secrets are resolved where they are used, and never shown."""

import pickle
from dataclasses import asdict
from pathlib import Path

import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.secret import Secret
from kafka_lagoon.settings import load
from tests.test_kafka_settings import SECURE
from tests.test_settings import conf, faults


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    """Printing, logging, and errors about other settings do not show a secret; pickling keeps the reference."""
    text = SECURE + 'sasl_username = "u"\nsasl_password = "hunter2"\nssl_key_password = "env:LAGOON_TEST_KEY"\n'
    settings = load(conf(tmp_path, text), {})
    assert settings.kafka is not None
    assert "hunter2" not in f"{settings} {settings!r} {asdict(settings.kafka)}"
    assert [secret.reveal() for secret in settings.kafka.secrets()[1:]] == ["hunter2"]
    travelled = pickle.loads(pickle.dumps(settings.kafka))  # noqa: S301  our own bytes
    assert travelled == settings.kafka
    with pytest.raises(ConfigError, match="env:LAGOON_TEST_KEY: this environment variable is not set"):
        travelled.ssl_key_password.reveal()
    assert not any("hunter2" in line for line in faults(tmp_path, text + 'sasl_scram_tokenauth = "hunter2"\n'))


def test_a_secret_in_a_file(tmp_path: Path) -> None:
    """The secret is the text without its last line break; the file is read each time, so that the secret can be renewed."""
    kept = tmp_path / "password"
    secret = Secret(f"file:{kept}")
    kept.write_text("one\n")
    assert secret.reveal() == "one"
    kept.write_text("two")
    assert secret.reveal() == "two"
    kept.unlink()
    with pytest.raises(ConfigError, match="No such file"):
        secret.reveal()


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    """The error names the reference, not the content of the file."""
    (tmp_path / "key").write_bytes(b"hunter2\xff")
    with pytest.raises(ConfigError, match=r"file:.*key: not text") as raised:
        Secret(f"file:{tmp_path / 'key'}").reveal()
    assert "hunter2" not in str(raised.value)


def test_equal_secrets() -> None:
    """Secrets with one value are equal, also as keys; a secret is not equal to its text."""
    assert {Secret("a"), Secret("a"), Secret("b")} == {Secret("a"), Secret("b")}
    assert Secret("a") != "a"
