"""The client-credentials flow against a scripted endpoint on loopback."""

import json
import socket
import threading
import time
import traceback
from base64 import b64decode, b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.client import token_endpoint
from kafka_lagoon.client.token_endpoint import TokenEndpoint, check_url
from kafka_lagoon.errors import AuthenticationFailed, ConfigError, ConnectionFailed, DeadlinePassed, TokenUnavailable
from kafka_lagoon.sasl.token import Token
from tests.certificates import OTHER_ROOT, ROOT_PEM, server_context
from tests.client.endpoint import Endpoint, Script, answering, endpoint, flooding, raw, trickling
from tests.clock import CLOCK

_SECRET = "s3cr3t:word"  # noqa: S105  a colon may be in a secret, not in an id
_TOKEN = {"access_token": "abc.def.ghi", "expires_in": 300}


def asking(server: Endpoint | str, **given: Any) -> TokenEndpoint:
    """Make the client with credentials."""
    url = server if isinstance(server, str) else server.url
    return TokenEndpoint(url=url, client_id="lagoon", client_secret=_SECRET, **given)


def refusal(script: Script) -> ConnectionFailed:
    """Return the reason of a response without a token, and check that it does not contain the secret."""
    with endpoint(script) as server, pytest.raises(ConnectionFailed) as failure:
        asking(server).fetch(CLOCK)
    shown = "".join(traceback.format_exception(failure.value)) + repr(failure.value)
    assert _SECRET not in shown
    assert "\n" not in str(failure.value)
    return failure.value


@pytest.fixture
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets a deadline of a tenth of a second instead of ten."""
    monkeypatch.setattr(token_endpoint, "DEADLINE_MS", 100)


def test_what_is_asked() -> None:
    """Credentials are in the header, grant and scope in the form, over TLS that trusts the given CAs."""
    with endpoint(answering("200 OK", _TOKEN), server_context()) as server:
        before_ms = CLOCK.now_ms()
        token = asking(server, scope="a b", certificates=ROOT_PEM).fetch(CLOCK)
    assert token.value == "abc.def.ghi"
    assert token.expires_at_ms is not None
    assert before_ms + 300_000 <= token.expires_at_ms <= CLOCK.now_ms() + 300_000
    head, _, form = server.requests[0].partition("\r\n\r\n")
    assert head.startswith("POST /token HTTP/1.1\r\n")
    assert form == "grant_type=client_credentials&scope=a+b"
    (credentials,) = (line.split()[-1] for line in head.splitlines() if line.startswith("Authorization: Basic"))
    assert b64decode(credentials).decode() == f"lagoon:{_SECRET}"


@pytest.mark.parametrize(
    ("given", "seconds"), [(300, 300), ("300", 300), (0, None), (-1, None), ("soon", None), (1e300, None), ({}, None)]
)
def test_lifetime(given: Any, seconds: int | None) -> None:
    """A lifetime is a number of seconds, or text as from some endpoints; other values are unknown."""
    with endpoint(answering("200 OK", {"access_token": "abc", "expires_in": given})) as server:
        token = asking(server).fetch(CLOCK)
    if seconds is None:
        assert token == Token("abc", None)
    else:
        assert token.expires_at_ms is not None
        assert abs(token.expires_at_ms - CLOCK.now_ms() - seconds * 1000) < 5_000


def test_chunked_answer() -> None:
    """The declared length is ignored."""
    body = json.dumps(_TOKEN).encode()
    chunks = b"%x\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (5, body[:5], len(body) - 5, body[5:])
    with endpoint(raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)) as server:
        assert asking(server).fetch(CLOCK).value == "abc.def.ghi"


@pytest.mark.parametrize("is_chunked", [False, True])
def test_an_endpoint_that_does_not_close(*, is_chunked: bool) -> None:
    """A response ends where it says so, also if the connection stays open; it may arrive in any pieces."""
    body = json.dumps(_TOKEN).encode()
    head = b"Content-Length: %d\r\n\r\n" % len(body)
    chunks = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    answer = b"HTTP/1.1 200 OK\r\n" + (chunks if is_chunked else head + body)
    is_over = threading.Event()

    def keep_open(peer: socket.socket) -> None:
        for i in range(0, len(answer), 7):
            peer.sendall(answer[i : i + 7])
            time.sleep(0.002)
        is_over.wait(20)

    started = time.monotonic()
    with endpoint(keep_open) as server:
        try:
            assert asking(server).fetch(CLOCK).value == "abc.def.ghi"
        finally:
            is_over.set()
    assert time.monotonic() - started < 5


def test_wrong_authority() -> None:
    """The secret is not sent to an endpoint whose certificate is not trusted."""
    with endpoint(answering("200 OK", _TOKEN), server_context()) as server:
        for certificates in (None, OTHER_ROOT.chain_pem()):
            with pytest.raises(ConnectionFailed, match=r"localhost:\d+: tls"):
                asking(server, certificates=certificates).fetch(CLOCK)
    assert server.requests == []


def test_redirects_are_not_followed() -> None:
    """The secret is only sent to allowed URLs."""
    with endpoint(answering("200 OK", _TOKEN)) as elsewhere:
        failure = refusal(answering("307 Temporary Redirect", b"", f"Location: {elsewhere.url}"))
    assert isinstance(failure, AuthenticationFailed)
    assert "answered 307; redirects are not followed" in str(failure)
    assert elsewhere.requests == []


def test_refused_credentials() -> None:
    """The reason in the fields of RFC 6749 is shown; the request is not repeated."""
    failure = refusal(answering("401 No", {"error": "invalid_client", "error_description": "who?\x1b[2J"}))
    assert isinstance(failure, AuthenticationFailed)
    assert "the token endpoint answered 401: invalid_client, who?\\u001b[2J" in str(failure)


def test_an_endpoint_that_repeats_the_secret() -> None:
    """A message that contains the secret is not shown."""
    assert "not repeated" in str(refusal(answering("400 Bad", {"error": f"bad secret {_SECRET}"})))


def test_an_endpoint_that_repeats_the_header() -> None:
    """The credentials of the header are not shown either: base64 hides nothing."""
    header = b64encode(f"lagoon:{_SECRET}".encode()).decode()
    for words in (f"bad header Basic {header}", header):
        failure = str(refusal(answering("401 No", {"error": "invalid_client", "error_description": words})))
        assert "not repeated" in failure
        assert header not in failure


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_endpoint_out_of_order(status: int) -> None:
    """The failure can be retried, and is no refusal."""
    failure = refusal(answering(f"{status} Oops", b"<html>"))
    assert isinstance(failure, TokenUnavailable)
    assert f"answered {status}" in str(failure)


def test_huge_answer() -> None:
    """Reading ends soon after the limit is passed."""
    assert "more than 1048576 bytes" in str(refusal(flooding))


@pytest.mark.usefixtures("short_deadline")
def test_slow_answer() -> None:
    """The deadline is for the whole response, not for each byte."""
    assert isinstance(refusal(trickling), DeadlinePassed)


@pytest.mark.parametrize("body", [b"", b"null", b"[1]", b'"x"', b"{}", b'{"access_token": 5}', b"[" * 100_000, b"\xff"])
def test_no_token_in_the_answer(body: bytes) -> None:
    """Other fields of the response do not matter."""
    failure = refusal(answering("200 OK", body))
    assert isinstance(failure, AuthenticationFailed)
    assert "no access_token" in str(failure)


@pytest.mark.parametrize(
    "answer",
    [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", b"HTTP/1.1 two hundred\r\n\r\n"],
)
def test_not_http(answer: bytes) -> None:
    """The peer speaks another protocol, or the response was cut off."""
    assert "not HTTP, or is cut off" in str(refusal(raw(answer)))


_pieces = st.sampled_from(
    [
        b"HTTP/1.1 200 OK",
        b"HTTP/1.1 100 Continue",
        b"\r\n",
        b"Transfer-Encoding: chunked",
        b"Content-Length: ",
        b"-5",
        b"ffffffffffffffffffff",
        b"7fffffffffffffff",
        b"{}",
        b"\0",
        b"\xff",
        b":",
        b" ",
        b"1",
        b'{"access_token": "a"}',
    ]
)


@given(answer=st.lists(_pieces, max_size=20).map(b"".join) | st.binary(max_size=200))
def test_hostile_answers(answer: bytes) -> None:
    """Any bytes give a token or a failure of the endpoint."""
    try:
        token = asking("https://idp.example/token")._token(answer, "idp.example:443", 0)
    except ConnectionFailed:
        return
    assert isinstance(token, Token)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "file: is not https"),
        ("/etc/passwd", "nothing: is not https"),
        ("ftp://idp.example/token", "ftp: is not https"),
        ("http://idp.example/token", "must be https"),
        ("https://me:word@idp.example/token", "must not hold credentials"),
        ("https://idp.example/token\r\nHost: elsewhere", "is not a URL"),
        ("https://idp.example/#token", "is not a URL"),
        ("https://idp.example:port/token", "is not a URL"),
        ("https://[idp.example/token", "is not a URL"),
        ("https:///token", "is not https"),
    ],
)
def test_urls_that_are_never_asked(url: str, reason: str) -> None:
    """They are refused even if they are allowed by name; passwords in them are not shown."""
    with pytest.raises(ConfigError, match=f"^sasl_oauthbearer_token_endpoint_url: .*{reason}") as failure:
        check_url(url, url)
    assert "word@" not in str(failure.value)


@pytest.mark.parametrize("allowed", [None, "", "https://idp.example/", "https://idp.example/token2"])
def test_urls_that_are_not_allowed(allowed: str | None) -> None:
    """The message says how to allow a URL (CVE-2025-27817)."""
    with pytest.raises(ConfigError, match="is not among sasl_oauthbearer_allowed_urls: add it there to allow it"):
        check_url("https://idp.example/token", allowed)


def test_allowed_urls() -> None:
    """https is allowed anywhere, http on this machine; several URLs are separated by commas."""
    for url in ("https://idp.example/token?tenant=1", "http://localhost:8080/token", "http://[::1]/token"):
        check_url(url, f"https://other.example/token, {url}")


def test_no_secret_is_shown() -> None:
    """The text form of an endpoint does not contain the secret."""
    assert _SECRET not in repr(asking("https://idp.example/token"))
