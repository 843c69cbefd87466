"""Fetches bearer tokens by client credentials (RFC 6749, KIP-768).

Credentials go only to a URL that is https and that the settings allow by name (CVE-2025-27817). Redirects are not followed,
and the size and time of a response are limited.
"""

import json
import re
import ssl
from base64 import b64encode
from contextlib import closing
from dataclasses import field
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from typing import Any
from urllib.parse import SplitResult, quote_plus, urlsplit

from kafka_lagoon.addresses import is_loopback
from kafka_lagoon.client.transport import Transport
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import AuthenticationFailed, ConfigError, ConnectionFailed, ConnectionLost, TokenUnavailable
from kafka_lagoon.frozen import frozen
from kafka_lagoon.sasl.conversation import quoted
from kafka_lagoon.sasl.token import Token

DEADLINE_MS = 10_000
BODY_LIMIT = 1 << 20  # bytes

_HEAD_LIMIT = 64 << 10
_ROOM = 16 << 10
_PHASE = "authenticate"
_URL, _ALLOWED = "sasl_oauthbearer_token_endpoint_url", "sasl_oauthbearer_allowed_urls"
_PRINTED = re.compile(r"[!-~]+")  # the characters of URLs; a line break would start a header of the request
_LONGEST_LIFE_SECONDS = 1 << 40
_TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_OK = 200
_NOT_HTTP = (HTTPException, ValueError, OverflowError)  # OverflowError: a chunk longer than memory
_REDIRECTS = range(300, 400)


@frozen
class TokenEndpoint:
    """An OAuth token endpoint and our credentials. `certificates` are CAs in PEM to trust besides those of this machine."""

    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    certificates: str | None = field(default=None, repr=False)

    def fetch(self, clock: Clock) -> Token:
        """A new token, within ten seconds.

        ConnectionFailed when the endpoint cannot be reached or does not work, TokenUnavailable when it says that it does not
        work for now, AuthenticationFailed when it refuses.
        """
        url = urlsplit(self.url)
        deadline = Deadline.after(clock, DEADLINE_MS)
        requested_at_ms = clock.now_ms()
        host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
        with closing(Transport.connect(host, port, deadline, self._tls(url))) as transport:
            raw = _exchange(transport, self._request(url), deadline)
            return self._token(raw, transport.address, requested_at_ms)

    def _tls(self, url: SplitResult) -> ssl.SSLContext | None:
        if url.scheme != "https":
            return None
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.certificates:
            context.load_verify_locations(cadata=self.certificates)
            context.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT  # as for brokers, see tls.py
        return context

    def _request(self, url: SplitResult) -> bytes:
        """Credentials in the header, as Kafka's clients send them: not form-encoded before they are joined."""
        form = "grant_type=client_credentials" + (f"&scope={quote_plus(self.scope)}" if self.scope else "")
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        head = [
            f"POST {target} HTTP/1.1",
            f"Host: {url.netloc}",
            f"Authorization: Basic {self._credentials()}",
            "Accept: application/json",
            "Content-Type: application/x-www-form-urlencoded",
            f"Content-Length: {len(form)}",
            "Connection: close",
        ]
        return "\r\n".join([*head, "", form]).encode()

    def _credentials(self) -> str:
        return b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()

    def _token(self, raw: bytes, address: str, requested_at_ms: int) -> Token:
        try:
            status, body = _answer(raw)
        except _NOT_HTTP:
            raise ConnectionFailed(address, _PHASE, "the token endpoint's answer is not HTTP, or is cut off") from None
        fields = _object(body)
        if status == _OK:
            return self._granted(fields, address, requested_at_ms)
        words = quoted(_error(fields), [self.client_secret, self._credentials()])
        reason = f"the token endpoint answered {status}" + (f": {words}" if words else "")
        if status in _TRY_AGAIN:
            raise TokenUnavailable(address, _PHASE, reason)
        hint = "; redirects are not followed" if status in _REDIRECTS else ""
        raise AuthenticationFailed(address, _PHASE, f"OAUTHBEARER: {reason}{hint}")

    def _granted(self, fields: dict[str, Any], address: str, requested_at_ms: int) -> Token:
        match fields:
            case {"access_token": str(value)}:
                lifetime_ms = _milliseconds(fields.get("expires_in"))
                return Token(value, requested_at_ms + lifetime_ms if lifetime_ms else None)
        raise AuthenticationFailed(address, _PHASE, "OAUTHBEARER: the token endpoint's answer holds no access_token")


def check_url(url: str, allowed: str | None) -> None:
    """ConfigError unless credentials may be sent to a URL: https or this machine, and among `allowed` ones."""
    if reason := _fault(url):
        raise ConfigError([f"{_URL}: {reason}"])
    if url not in [one.strip() for one in (allowed or "").split(",")]:
        raise ConfigError([f"{_URL} {url} is not among {_ALLOWED}: add it there to allow it"])


def _fault(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return "is not a URL"
    if not _PRINTED.fullmatch(url) or parts.fragment:
        return "is not a URL that can be asked"
    if parts.username is not None:
        return "must not hold credentials; see sasl_oauthbearer_client_id"
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        return f"{parts.scheme or 'nothing'}: is not https"
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        return "must be https, for it is sent the client's secret"
    return None


def _exchange(transport: Transport, request: bytes, deadline: Deadline) -> bytes:
    """The whole response. Not every endpoint closes the connection after it, as requested."""
    outgoing, received = bytearray(request), bytearray()
    room = memoryview(bytearray(_ROOM))
    while len(received) <= _HEAD_LIMIT + BODY_LIMIT:
        try:
            count = transport.exchange(outgoing, room, deadline, _PHASE)
        except ConnectionLost:
            if received:
                return bytes(received)
            raise
        received += room[:count]
        if count and _is_whole(bytes(received)):
            return bytes(received)
    raise ConnectionFailed(transport.address, _PHASE, f"the token endpoint answers more than {BODY_LIMIT} bytes")


def _is_whole(raw: bytes) -> bool:
    """True if a response says where it ends, and is there as far as that."""
    response = HTTPResponse(_Received(raw), method="POST")  # type: ignore[arg-type]
    try:
        response.begin()
        response.read()
    except _NOT_HTTP:
        return False
    return response.chunked or response.length is not None


def _answer(raw: bytes) -> tuple[int, bytes]:
    """Status and body, read by the standard library, which uses one method of the socket."""
    response = HTTPResponse(_Received(raw), method="POST")  # type: ignore[arg-type]
    response.begin()
    return response.status, response.read()


@frozen(kw_only=False)
class _Received:
    raw: bytes

    def makefile(self, _mode: str) -> BytesIO:
        return BytesIO(self.raw)


def _object(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _error(fields: dict[str, Any]) -> str:
    """The reason of a refusal, in the fields of RFC 6749."""
    words = [fields[key] for key in ("error", "error_description") if isinstance(fields.get(key), str)]
    return ", ".join(words)


def _milliseconds(seconds: Any) -> int | None:
    """A lifetime as endpoints send it, some of them as text; None for one that is not valid."""
    try:
        lifetime = float(seconds)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(lifetime * 1000) if 0 < lifetime < _LONGEST_LIFE_SECONDS else None
