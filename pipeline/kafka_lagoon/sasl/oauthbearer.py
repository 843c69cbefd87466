"""OAUTHBEARER (RFC 7628, KIP-255): sends a bearer token to the broker, with extensions. TLS has to prove the broker.

A token cannot add other parts to the message, whatever it contains, and is never shown.
"""

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import ClassVar

from kafka_lagoon.addresses import is_loopback
from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.sasl.conversation import MechanismFailed, Tokens, quoted
from kafka_lagoon.sasl.peer import Peer
from kafka_lagoon.sasl.token import Source, Token, TokenCache
from kafka_lagoon.sasl.token_provider import TokenProvider
from kafka_lagoon.sasl_mechanisms import OAUTHBEARER

_SEPARATOR = "\x01"
_TOKEN = re.compile(r"[-_~+/.a-zA-Z0-9]+=*")  # RFC 6750
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")
_UNSECURED_LIFETIME_MS = 3_600_000
_REASONS = ("status", "scope", "openid-configuration")  # fields of a refusal (RFC 7628)
_TOKENS = TokenCache()


@frozen
class OAuthBearer:
    """A token, and the extensions that are sent with it; `forget` is called if the broker refuses the token."""

    token: Token
    extensions: tuple[tuple[str, str], ...] = ()
    forget: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)
    name: ClassVar[str] = OAUTHBEARER.name

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token."""
        return (self.token.value,)

    def tokens(self) -> Tokens:
        """One message; a broker that refuses the token answers with a reason, which must be acknowledged."""
        if not _TOKEN.fullmatch(self.token.value):
            raise MechanismFailed("the token holds characters that tokens do not have")
        parts = [f"auth=Bearer {self.token.value}", *(f"{name}={value}" for name, value in self.extensions)]
        message = "".join(["n,,", *(_SEPARATOR + part for part in parts), _SEPARATOR * 2]).encode()
        try:
            yield from self._exchange(message)
        except MechanismFailed:
            self.forget()
            raise

    def _exchange(self, message: bytes) -> Tokens:
        refusal = yield message
        if not refusal:
            return
        try:
            yield _SEPARATOR.encode()
        except MechanismFailed as refused:
            raise MechanismFailed(self._reason(refusal) or str(refused)) from None
        raise MechanismFailed(self._reason(refusal) or "the broker refuses the token")

    def _reason(self, refusal: bytes) -> str | None:
        """The reason in the broker's JSON, None when it cannot be read."""
        try:
            reasons = json.loads(refusal)
        except (ValueError, RecursionError):
            return None
        words = [
            f"{key} {reasons[key]}"
            for key in _REASONS
            if isinstance(reasons, dict) and isinstance(reasons.get(key), str)
        ]
        return f"the broker refuses the token: {quoted(', '.join(words), self.secrets)}" if words else None


def read_extensions(text: str | None) -> tuple[tuple[str, str], ...]:
    """The pairs of `name=value,...`; ConfigError for a pair that the mechanism cannot carry."""
    pairs = [tuple(map(str.strip, part.partition("=")[::2])) for part in (text or "").split(",") if part.strip()]
    return tuple(_extension(name, value) for name, value in pairs)


def unsecured(principal: str, clock: Clock) -> Token:
    """An unsigned token, for development brokers that accept one (KIP-255)."""
    now_ms = clock.now_ms()
    expires_at_ms = now_ms + _UNSECURED_LIFETIME_MS
    claims = {"sub": principal, "iat": now_ms / 1000, "exp": expires_at_ms / 1000}
    return Token(f"{_part({'alg': 'none'})}.{_part(claims)}.", expires_at_ms)


def _extension(name: str, value: str) -> tuple[str, str]:
    if not _EXTENSION_NAME.fullmatch(name) or name == "auth" or not _EXTENSION_VALUE.fullmatch(value):
        raise ConfigError(
            [f"sasl_oauthbearer_extensions: {name}: names are letters, not `auth`, and values ASCII text"]
        )
    return name, value


def _part(claims: Mapping[str, object]) -> str:
    return urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")


def login(peer: Peer) -> OAuthBearer:
    """The login with a token of the source that the settings name."""
    extensions = read_extensions(peer.settings.sasl_oauthbearer_extensions)
    if source := _source(peer):
        token = _TOKENS.token(source, peer.clock)
        return OAuthBearer(token=token, extensions=extensions, forget=partial(_TOKENS.forget, source, token))
    return OAuthBearer(token=_given_token(peer), extensions=extensions)


def _source(peer: Peer) -> Source | None:
    """The source that tokens are fetched from, None if the settings have a token or a principal."""
    settings = peer.settings
    if settings.sasl_oauthbearer_token or settings.sasl_oauthbearer_unsecured_principal:
        return None
    if function := settings.sasl_oauthbearer_token_provider:
        return TokenProvider(function=function, host=peer.host)
    return peer.token_endpoint(settings)


def _given_token(peer: Peer) -> Token:
    settings = peer.settings
    if settings.sasl_oauthbearer_token:
        return Token(settings.sasl_oauthbearer_token.reveal())
    if not is_loopback(peer.host):
        raise ConfigError([f"sasl_oauthbearer_unsecured_principal: {peer.host} is not this machine"])
    return unsecured(settings.sasl_oauthbearer_unsecured_principal or "", peer.clock)
