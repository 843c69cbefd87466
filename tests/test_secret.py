"""Secrets are resolved where they are used, and never shown."""

import os
import pickle
from dataclasses import asdict
from pathlib import Path

import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.secret import Secret
from kafka_lagoon.settings_sources import load
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


def test_a_secret_in_a_file_of_windows(tmp_path: Path) -> None:
    """The mark that its editors write before the text is not part of a password, as it is not part of the settings."""
    (tmp_path / "password").write_bytes("\ufeffhunter2\r\n".encode())
    assert Secret(f"file:{tmp_path / 'password'}").reveal() == "hunter2"


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    """The error names the reference, not the content of the file."""
    (tmp_path / "key").write_bytes(b"hunter2\xff")
    with pytest.raises(ConfigError, match=r"file:.*key: not a text file") as raised:
        Secret(f"file:{tmp_path / 'key'}").reveal()
    assert "hunter2" not in str(raised.value)
    with pytest.raises(ConfigError, match="not a text file"):
        Secret("file:a\0b").reveal()


def test_a_secret_that_is_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable may have any bytes; the error names the variable or the setting."""
    monkeypatch.setitem(os.environb, b"LAGOON_TEST_KEY", b"hunter2\xfc")
    with pytest.raises(ConfigError, match=r"^env:LAGOON_TEST_KEY: not text in UTF-8$"):
        Secret("env:LAGOON_TEST_KEY").reveal()
    assert faults(tmp_path, SECURE + 'sasl_username = "u"\n', {"LAGOON_KAFKA__SASL_PASSWORD": "hunter2\udcfc"}) == [
        "environment variable LAGOON_KAFKA__SASL_PASSWORD: must be text in UTF-8"
    ]


def test_a_secret_in_a_pipe() -> None:
    """A pipe can be read once, so all logins of a process get the same value; the reference alone travels."""
    reading, writing = os.pipe()
    os.write(writing, b"hunter2\n")
    os.close(writing)
    secret = Secret(f"file:/dev/fd/{reading}")
    assert [secret.reveal(), secret.reveal(), Secret(f"file:/dev/fd/{reading}").reveal()] == ["hunter2"] * 3
    assert b"hunter2" not in pickle.dumps(secret)
    assert f"{secret} {secret!r}" == "*** ***"
    os.close(reading)


def test_a_reference_to_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty value is a fault and is not sent; an empty text is a value of its own: it resets a config."""
    (tmp_path / "empty").write_text("\n")
    monkeypatch.setenv("LAGOON_TEST_KEY", "")
    for given in (f"file:{tmp_path}/empty", "env:LAGOON_TEST_KEY"):
        with pytest.raises(ConfigError, match=f"^{given}: it is empty"):
            Secret(given).reveal()
    assert Secret("").reveal() == ""
    text = SECURE + 'sasl_username = "u"\nsasl_password = ""\n'
    assert faults(tmp_path, text) == ["kafka: sasl_mechanism PLAIN needs sasl_password"]


def test_a_literal_that_looks_like_a_reference() -> None:
    """A value from a text that has no references is the secret itself, also after pickling."""
    for text in ("file:hunter2", "env:hunter2", "hunter2", ""):
        literal = Secret.literal(text)
        travelled = pickle.loads(pickle.dumps(literal))  # noqa: S301  our own bytes
        assert literal.reveal() == travelled.reveal() == text
        assert literal == travelled
        assert literal.is_text() == bool(text)
    assert Secret.literal("file:hunter2") != Secret("file:hunter2")
    assert Secret.literal("hunter2") == Secret("hunter2")


def test_equal_secrets() -> None:
    """Secrets with one value are equal, also as keys; a secret is not equal to its text."""
    assert {Secret("a"), Secret("a"), Secret("b")} == {Secret("a"), Secret("b")}
    assert Secret("a") != "a"
