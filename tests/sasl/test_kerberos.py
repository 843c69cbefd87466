"""GSSAPI with a scripted library; tests/oracle/test_kerberos.py has real tickets."""

import enum
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.sasl.conversation import MechanismFailed
from kafka_lagoon.sasl.kerberos import Kerberos
from tests.sasl.speaking import answered, begun, ended

US = Kerberos(host="broker-1", service="kafka", principal="alice@TEST", keytab="MEMORY:alice")


class Flag(enum.IntFlag):
    """Flags that a context may require."""

    mutual_authentication = 2
    integrity = 32


class GSSError(Exception):
    """An error as the library raises it."""


class Context:
    """A context that is complete after two steps, and that wraps a message by a prefix."""

    def __init__(self, flags: int, **given: Any) -> None:
        self.given = given | {"flags": flags}
        self.complete = False
        self.actual_flags = flags

    def step(self, token: bytes | None = None) -> bytes | None:
        """Return our ticket, then check the broker's."""
        if token is None:
            return b"ticket"
        if token != b"its ticket":
            raise GSSError("Major (589824): Invalid token\n\nMinor (0): \x1bUnknown")
        self.complete = True
        return None

    def unwrap(self, token: bytes) -> Any:
        """Return the wrapped message."""
        if not token.startswith(b"wrapped:"):
            raise GSSError("bad signature")
        return SimpleNamespace(message=token.removeprefix(b"wrapped:"))

    def wrap(self, message: bytes, encrypt: bool) -> Any:
        """Wrap a message: signed, not encrypted."""
        assert not encrypt
        return SimpleNamespace(message=b"wrapped:" + message)


@pytest.fixture
def gssapi(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A library that records its arguments."""
    library = SimpleNamespace(
        RequirementFlag=Flag,
        NameType=SimpleNamespace(hostbased_service="service", kerberos_principal="principal"),
        MechType=SimpleNamespace(kerberos="krb5"),
        exceptions=SimpleNamespace(GSSError=GSSError),
        Name=lambda name, kind: (kind, name),
        Credentials=lambda **given: given,
    )
    library.made = []
    library.SecurityContext = lambda **given: library.made.append(Context(**given)) or library.made[-1]
    monkeypatch.setitem(sys.modules, "gssapi", library)
    return library


def test_the_conversation(gssapi: SimpleNamespace) -> None:
    """Tickets both ways, an empty message, the broker's offer, and our choice: no security layer."""
    tokens, first = begun(US)
    assert first == b"ticket"
    assert tokens.send(b"its ticket") == b""
    assert tokens.send(b"wrapped:\x07\x00\xff\xff") == b"wrapped:\x01\x00\x00\x00"
    assert ended(tokens, b"")
    (context,) = gssapi.made
    assert context.given["name"] == ("service", "kafka@broker-1")
    assert context.given["flags"] == Flag.mutual_authentication | Flag.integrity
    assert context.given["creds"]["name"] == ("principal", "alice@TEST")
    assert context.given["creds"]["store"]["client_keytab"] == "MEMORY:alice"
    assert context.given["creds"]["store"]["ccache"].startswith("MEMORY:")


def test_without_a_keytab(gssapi: SimpleNamespace) -> None:
    """Tickets in the cache are used, for any principal."""
    begun(Kerberos(host="broker-1", service="kafka"))
    assert gssapi.made[0].given["creds"] == {"name": None, "usage": "initiate", "mechs": ["krb5"], "store": None}


@pytest.mark.usefixtures("gssapi")
@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([b""], "Invalid token Minor"),
        ([b"its ticket", b""], "bad signature"),
        ([b"its ticket", b"wrapped:"], "protect the connection"),
        ([b"its ticket", b"wrapped:\x06\x00\xff\xff"], "protect the connection"),
        ([b"its ticket", b"wrapped:\x01\x00\xff\xff\x00"], "protect the connection"),
    ],
)
def test_brokers_that_are_refused(answers: list[bytes], reason: str) -> None:
    """The error is one line without control characters."""
    tokens, _ = begun(US)
    with pytest.raises(MechanismFailed, match=reason) as failure:
        answered(tokens, *answers)
    assert str(failure.value).isprintable()


def test_a_broker_without_a_proof(gssapi: SimpleNamespace) -> None:
    """A broker without mutual authentication is refused, even if the library accepts it."""
    tokens, _ = begun(US)
    gssapi.made[0].actual_flags = Flag.integrity
    with pytest.raises(MechanismFailed, match="did not prove who it is"):
        tokens.send(b"its ticket")


@pytest.mark.usefixtures("gssapi")
def test_a_keytab_that_cannot_be_read(tmp_path: Path) -> None:
    """The library would say that there is no credentials cache."""
    for keytab in (tmp_path / "absent", f"FILE:{tmp_path}"):
        with pytest.raises(ConfigError, match=rf"^sasl_kerberos_keytab: {tmp_path}.*: (No such file|Is a directory)"):
            begun(replace(US, keytab=str(keytab)))


def test_a_keytab_without_the_principal(gssapi: SimpleNamespace) -> None:
    """The line names both."""

    def refuse(**_: Any) -> None:
        raise GSSError("No credentials\ncache found")

    gssapi.Credentials = refuse
    with pytest.raises(
        MechanismFailed, match=r"^no ticket for alice@TEST by the keytab MEMORY:alice: No credentials cache found$"
    ):
        begun(US)
    with pytest.raises(MechanismFailed, match=r"^No credentials cache found$"):
        begun(Kerberos(host="broker-1", service="kafka"))


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is one line that names the package to install."""
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(ConfigError, match="pip install gssapi"):
        begun(US)
