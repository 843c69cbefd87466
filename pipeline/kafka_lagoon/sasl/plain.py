"""PLAIN (RFC 4616): sends the password itself to the broker, which proves nothing in return. TLS has to do that."""

from dataclasses import field
from typing import ClassVar

from kafka_lagoon.frozen import frozen
from kafka_lagoon.sasl.conversation import MechanismFailed, Tokens, utf8
from kafka_lagoon.sasl.peer import Peer, revealed
from kafka_lagoon.sasl_mechanisms import PLAIN


@frozen
class Plain:
    """A user name and a password."""

    username: str
    password: str = field(repr=False)
    name: ClassVar[str] = PLAIN.name

    @property
    def secrets(self) -> tuple[str, ...]:
        """The password."""
        return (self.password,)

    def tokens(self) -> Tokens:
        """One message without an authorization identity; the response to a correct password is empty."""
        if "\0" in self.username or "\0" in self.password:
            raise MechanismFailed("NUL separates user name and password, so neither may have one")
        yield b"\0%b\0%b" % (utf8(self.username, "the user name"), utf8(self.password, "the password"))


def login(peer: Peer) -> Plain:
    """The login with the user and the password of the settings."""
    return Plain(username=peer.settings.sasl_username or "", password=revealed(peer.settings.sasl_password))
