"""GSSAPI (RFC 4752): Kerberos by the system's library, through the Python package gssapi, which is optional.

The broker must prove its identity (mutual authentication). The data after the login are protected by TLS, not by Kerberos,
as in Kafka's clients.
"""

import importlib
from pathlib import Path
from typing import Any, ClassVar

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.sasl.conversation import MechanismFailed, Tokens, quoted
from kafka_lagoon.sasl.peer import Peer
from kafka_lagoon.sasl_mechanisms import GSSAPI

_NO_LAYER = 1  # of the bits for the protection of later data
_OFFER_LENGTH = 4  # those bits, and the longest message of a protected connection, which is not used
_CHOICE = bytes([_NO_LAYER, 0, 0, 0])  # and no other authorization identity


@frozen
class Kerberos:
    """The service `service` at `host`. Without a keytab, the tickets in the credential cache are used."""

    host: str
    service: str
    principal: str | None = None
    keytab: str | None = None
    name: ClassVar[str] = GSSAPI.name

    @property
    def secrets(self) -> tuple[str, ...]:
        """None: keys never leave the library."""
        return ()

    def tokens(self) -> Tokens:
        """Exchange tickets, then agree on no protection of later data. ConfigError when gssapi is missing."""
        gssapi = _library()
        try:
            context = self._context(gssapi)
            token = context.step()
            while not context.complete:
                token = context.step((yield token or b""))
            if not context.actual_flags & gssapi.RequirementFlag.mutual_authentication:
                raise MechanismFailed("the broker did not prove who it is")
            offer = context.unwrap((yield token or b"")).message
            if len(offer) != _OFFER_LENGTH or not offer[0] & _NO_LAYER:
                raise MechanismFailed("the broker wants Kerberos to protect the connection, which Kafka does not do")
            yield context.wrap(_CHOICE, False).message
        except gssapi.exceptions.GSSError as error:
            raise MechanismFailed(_line(error)) from None

    def _context(self, gssapi: Any) -> Any:
        flags = gssapi.RequirementFlag
        return gssapi.SecurityContext(
            name=gssapi.Name(f"{self.service}@{self.host}", gssapi.NameType.hostbased_service),
            creds=self._credentials(gssapi),
            mech=gssapi.MechType.kerberos,
            flags=flags.mutual_authentication | flags.integrity,
            usage="initiate",
        )

    def _credentials(self, gssapi: Any) -> Any:
        """From the keytab, with tickets kept in memory; else those in the cache that kinit filled.

        The library says of a keytab that is not there, or that lacks the principal, that there is no cache.
        """
        name = gssapi.Name(self.principal, gssapi.NameType.kerberos_principal) if self.principal else None
        store = None
        if self.keytab:
            _check_readable(self.keytab)
            store = {"client_keytab": self.keytab, "ccache": f"MEMORY:{self.principal}@{self.keytab}"}
        try:
            return gssapi.Credentials(name=name, usage="initiate", mechs=[gssapi.MechType.kerberos], store=store)
        except gssapi.exceptions.GSSError as error:
            if not self.keytab:
                raise
            whose = f"for {self.principal} " if self.principal else ""
            raise MechanismFailed(f"no ticket {whose}by the keytab {self.keytab}: {_line(error)}") from None


def _line(error: Exception) -> str:
    return quoted(" ".join(str(error).split()), ())


def _check_readable(keytab: str) -> None:
    """ConfigError if the file cannot be read. A keytab may also have another type than FILE, as in MEMORY:NAME."""
    path = keytab.removeprefix("FILE:")
    if ":" in path:
        return
    try:
        Path(path).open("rb").close()
    except OSError as error:
        raise ConfigError([f"sasl_kerberos_keytab: {path}: {error.strerror}"]) from error


def _library() -> Any:
    try:
        return importlib.import_module("gssapi")
    except (ImportError, OSError) as error:  # OSError: the package is there, and the system's library is not
        raise ConfigError(
            [f"sasl_mechanism GSSAPI: pip install gssapi, which needs Kerberos (Debian: libkrb5-dev): {error}"]
        ) from error


def login(peer: Peer) -> Kerberos:
    """The login as the principal of the settings."""
    return Kerberos(
        host=peer.host.rstrip("."),
        service=peer.settings.sasl_kerberos_service_name,
        principal=peer.settings.sasl_kerberos_principal,
        keytab=peer.settings.sasl_kerberos_keytab,
    )
