"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802) as Kafka speaks them: UTF-8 without SASLprep, no channel binding.

The broker must prove that it knows the password too, and the iterations that it may ask for have an upper bound.
"""

import binascii
import hashlib
import hmac
import re
from base64 import b64encode
from dataclasses import field
from functools import lru_cache
from secrets import token_urlsafe
from threading import Lock

from kafka_lagoon.frozen import frozen
from kafka_lagoon.sasl.conversation import MechanismFailed, Tokens, quoted, utf8
from kafka_lagoon.sasl.peer import Peer, revealed
from kafka_lagoon.sasl_mechanisms import SCRAM_SHA_256, SCRAM_SHA_512

# RFC 7677 and Kafka's brokers ask for the lower bound; they create no more than 16384. The upper one costs 0.4 s.
FEWEST_ITERATIONS = 4096
MOST_ITERATIONS = 1_000_000

_HASHES = {SCRAM_SHA_256.name: "sha256", SCRAM_SHA_512.name: "sha512"}
_NONCE_BYTES = 24
_LONGEST = 4096  # bytes of a broker's message
_GS2_HEADER = "n,,"  # no channel binding, no authorization identity
_DELEGATED = ",tokenauth=true"  # KIP-48
_FIRST = re.compile(
    rb"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[^,]+),i=(?P<iterations>[0-9]{1,18})(?:,.*)?", re.DOTALL
)
_FINAL = re.compile(rb"(?:v=(?P<signature>[^,]+)|e=(?P<error>[^,]*))(?:,.*)?", re.DOTALL)

_one_at_a_time = Lock()


@frozen
class Scram:
    """A user name and a password; with `delegation_token` the id of such a token and its HMAC."""

    name: str
    username: str
    password: str = field(repr=False)
    delegation_token: bool = False

    @property
    def secrets(self) -> tuple[str, ...]:
        """The password, which the broker never sees."""
        return (self.password,)

    def tokens(self) -> Tokens:
        """Two messages in each direction; returns when the broker's signature is correct."""
        nonce = token_urlsafe(_NONCE_BYTES)
        user = utf8(self.username.replace("=", "=3D").replace(",", "=2C"), "the user name")
        extension = _DELEGATED if self.delegation_token else ""
        first = b"n=%b,r=%b" % (user, f"{nonce}{extension}".encode())
        challenge = yield _GS2_HEADER.encode() + first
        reply = _reply(challenge, nonce)
        keys = _Keys.of(_HASHES[self.name], utf8(self.password, "the password"), reply)
        without_proof = b"c=%b,r=%b" % (b64encode(_GS2_HEADER.encode()), reply.nonce)
        signed = b",".join([first, challenge, without_proof])
        final = yield without_proof + b",p=" + b64encode(keys.proof(signed))
        _check(final, keys.signature(signed), self.secrets)


@frozen(kw_only=False)
class _Reply:
    """The content of the broker's first message."""

    nonce: bytes
    salt: bytes
    iterations: int


@frozen(kw_only=False)
class _Keys:
    """The keys that are derived from a password and a broker's salt."""

    hash_name: str
    salted: bytes = field(repr=False)

    @classmethod
    def of(cls, hash_name: str, password: bytes, reply: _Reply) -> "_Keys":
        """The keys, derived once for all brokers: they share a user's salt."""
        with _one_at_a_time:
            return cls(hash_name, _salted(hash_name, password, reply.salt, reply.iterations))

    def proof(self, signed: bytes) -> bytes:
        """The client's proof: shows that we know the password without revealing it."""
        client_key = hmac.digest(self.salted, b"Client Key", self.hash_name)
        stored_key = hashlib.new(self.hash_name, client_key).digest()
        signature = hmac.digest(stored_key, signed, self.hash_name)
        return bytes(a ^ b for a, b in zip(client_key, signature, strict=True))

    def signature(self, signed: bytes) -> bytes:
        """The signature that the broker must send."""
        return hmac.digest(hmac.digest(self.salted, b"Server Key", self.hash_name), signed, self.hash_name)


@lru_cache(maxsize=64)
def _salted(hash_name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(hash_name, password, salt, iterations)


def _reply(message: bytes, nonce: str) -> _Reply:
    """The broker's first message; MechanismFailed if it cannot be read or has too few or too many iterations."""
    match = _FIRST.fullmatch(message) if len(message) <= _LONGEST else None
    salt = _from_base64(match["salt"]) if match else None
    if match is None or not salt:
        raise MechanismFailed("the broker's challenge cannot be read")
    ours = nonce.encode()
    if not match["nonce"].startswith(ours) or match["nonce"] == ours:
        raise MechanismFailed("the broker's challenge does not continue our nonce: it is an answer to somebody else")
    iterations = int(match["iterations"])
    if not FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        raise MechanismFailed(
            f"the broker asks for {iterations} iterations; from {FEWEST_ITERATIONS} to {MOST_ITERATIONS} are accepted"
        )
    return _Reply(match["nonce"], salt, iterations)


def _check(message: bytes, signature: bytes, secrets: tuple[str, ...]) -> None:
    match = _FINAL.fullmatch(message) if len(message) <= _LONGEST else None
    if match is None:
        raise MechanismFailed("the broker did not prove that it knows the password")
    if match["error"] is not None:
        raise MechanismFailed(f"the broker says {quoted(match['error'].decode(errors='replace'), secrets)}")
    if not hmac.compare_digest(_from_base64(match["signature"]) or b"", signature):
        raise MechanismFailed("the broker does not know the password: its signature is wrong")


def _from_base64(text: bytes) -> bytes | None:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error:
        return None


def login(name: str, peer: Peer) -> Scram:
    """The login by the mechanism of this name, with the user and the password of the settings."""
    return Scram(
        name=name,
        username=peer.settings.sasl_username or "",
        password=revealed(peer.settings.sasl_password),
        delegation_token=peer.settings.sasl_scram_tokenauth,
    )
