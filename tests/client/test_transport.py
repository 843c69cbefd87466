"""Streams through TLS: bytes in both directions, closing, deadlines, and checks of the peer."""

import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kafka_lagoon.client.tls import context
from kafka_lagoon.client.tls_stream import secured, server_name
from kafka_lagoon.client.transport import Transport, Tried
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConnectionFailed, ConnectionLost, DeadlinePassed
from kafka_lagoon.sandbox.certificates import Certificate, issue, pem, revoke
from tests.certificates import (
    BELOW,
    CLIENT,
    ELSEWHERE,
    MIDDLE,
    OTHER_ROOT,
    ROOT,
    SERVER,
    server_context,
    tls_settings,
)
from tests.client.streams import VERSIONS, connected, exchanged, refused
from tests.clock import CLOCK
from tests.fake.peer import peer
from tests.fake.secure_peer import chopped, echo, secure_peer


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [1, 16_384, 16_385, 300_000])
def test_what_is_sent_comes_back(version: ssl.TLSVersion, size: int) -> None:
    """Both versions of TLS carry any number of bytes, with records of any size."""
    said = bytes(i % 251 for i in range(size))
    with secure_peer(server_context(maximum_version=version)) as server, connected(server.port) as transport:
        assert exchanged(transport, said, size) == said


@pytest.mark.parametrize("version", VERSIONS)
def test_byte_by_byte(version: ssl.TLSVersion) -> None:
    """Handshake and records may arrive in pieces of any size."""
    said = bytes(range(256)) * 4
    with (
        secure_peer(server_context(maximum_version=version)) as server,
        chopped(server.port) as port,
        connected(port) as transport,
    ):
        assert exchanged(transport, said, len(said)) == said


def test_both_directions_at_once() -> None:
    """A peer that writes everything before it reads is read while we write, and all bytes arrive."""
    theirs, ours = bytes(6_000_000), b"\x01" * 6_000_000
    heard = bytearray()

    def write_then_read(stream: ssl.SSLSocket) -> None:
        stream.sendall(theirs)
        while len(heard) < len(ours):
            heard.extend(stream.recv(1 << 20))

    with secure_peer(server_context(), write_then_read) as server, connected(server.port) as transport:
        assert exchanged(transport, ours, len(theirs), 1 << 20) == theirs
    assert heard == ours


def test_bytes_that_poll_does_not_see() -> None:
    """The remainder of a record that is larger than the room is returned by further exchanges, though nothing more arrives."""
    with secure_peer(server_context()) as server, connected(server.port) as transport:
        assert exchanged(transport, bytes(range(100)), 100, room=7) == bytes(range(100))


def test_words_before_the_end() -> None:
    """Bytes that arrived before the peer closed are returned first, then the error."""
    with (
        secure_peer(server_context(), lambda stream: stream.sendall(b"goodbye")) as server,
        connected(server.port) as transport,
    ):
        assert exchanged(transport, b"", 7) == b"goodbye"
        with pytest.raises(ConnectionLost, match=r": exchange: closed by the peer$"):
            exchanged(transport, b"", 1)


def test_close_says_goodbye() -> None:
    """`close` sends close_notify, and may be called again."""
    with secure_peer(server_context()) as server:
        with connected(server.port) as transport:
            assert exchanged(transport, b"x", 1) == b"x"
        transport.close()
    assert server.faults == []
    assert server.heard == [None]


def test_another_thread_ends_an_exchange() -> None:
    """`interrupt` ends a wait at once, with ConnectionLost."""
    with secure_peer(server_context()) as server, connected(server.port) as transport:
        threading.Timer(0.05, transport.interrupt).start()
        with pytest.raises(ConnectionLost):  # and not DeadlinePassed after a minute
            exchanged(transport, b"", 1, budget_ms=60_000)


def test_an_exchange_has_a_deadline() -> None:
    """A silent peer is waited for until the deadline."""
    with (
        secure_peer(server_context()) as server,
        connected(server.port) as transport,
        pytest.raises(DeadlinePassed, match="exchange: no answer within 50 ms"),
    ):
        exchanged(transport, b"", 1, budget_ms=50)


def test_the_handshake_has_a_deadline() -> None:
    """A peer that accepts and sends nothing is left at the deadline."""
    with peer(b"") as port, pytest.raises(DeadlinePassed, match="tls: no answer within 50 ms"):
        Transport.connect("127.0.0.1", port, Deadline.after(CLOCK, 50), context(tls_settings()))


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b"\0\0\0\x05hello"]
)
def test_a_peer_without_tls(answer: bytes) -> None:
    """A peer of another protocol is named, with the setting to change."""
    with peer(answer) as port:
        refusal = refused(port)
    assert not isinstance(refusal, ConnectionLost)
    assert str(refusal) == f"127.0.0.1:{port}: tls: the peer does not speak TLS: see security_protocol"


def test_a_peer_that_hangs_up() -> None:
    """A broker's listener without TLS closes silently; so does a broker that stops, so the connection counts as lost."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            stream, _ = server.accept()
            stream.recv(1 << 16)
            stream.close()

        threading.Thread(target=hang_up, daemon=True).start()
        refusal = refused(server.getsockname()[1])
    assert isinstance(refusal, ConnectionLost)
    assert refusal.phase == "tls"
    assert refusal.reason == (
        "closed by the peer before TLS began: a listener without TLS does that, see security_protocol, and a broker whose "
        "quota connection_creation_rate is exceeded"
    )


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 503 Service Unavailable\r\n"])
def test_a_peer_that_resets_before_tls(answer: bytes, *, is_known: bool) -> None:
    """A proxy without a broker behind it resets what it has accepted: that is a lost connection even before TLS begins."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
        theirs.sendall(answer)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
    select.select([ours], [], [], 5)
    ours.setblocking(False)
    if is_known:
        ours.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    with pytest.raises(ConnectionLost) as caught:
        secured(ours, context(tls_settings()), "127.0.0.1", "127.0.0.1:1", Deadline.after(CLOCK, 5_000))
    assert caught.value.phase == "tls"
    assert ours.fileno() == -1


@pytest.mark.parametrize("version", VERSIONS)
def test_the_whole_chain_is_shown(version: ssl.TLSVersion) -> None:
    """A broker that trusts only the root accepts a client whose certificate an intermediate CA has signed."""
    given = {"ssl_keystore_certificate_chain": CLIENT.chain_pem(), "ssl_keystore_key": CLIENT.key_pem()}
    server_side = server_context(clients_of=ROOT, maximum_version=version)
    with secure_peer(server_side) as server, connected(server.port, **given) as transport:
        assert exchanged(transport, b"x", 1) == b"x"


@pytest.mark.parametrize(
    ("host", "named"), [("localhost", "localhost"), ("localhost.", "localhost"), ("127.0.0.1", None)]
)
def test_the_name_that_is_checked(monkeypatch: pytest.MonkeyPatch, host: str, named: str | None) -> None:
    """The host is sent and checked without a final dot; addresses are checked but not sent."""
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, port, **kind: resolve("127.0.0.1", port, **kind))
    requested: list[str | None] = []
    context = server_context()
    context.sni_callback = lambda _stream, name, _context: requested.append(name)
    with secure_peer(context) as server, connected(server.port, host) as transport:
        assert exchanged(transport, b"x", 1) == b"x"
    assert requested == [named]


def test_a_name_that_is_not_checked() -> None:
    """Without endpoint identification the certificate of another host is accepted, an untrusted one is not."""
    unchecked = {"ssl_endpoint_identification_algorithm": ""}
    with secure_peer(server_context(ELSEWHERE)) as server, connected(server.port, **unchecked) as transport:
        assert exchanged(transport, b"x", 1) == b"x"
    with secure_peer(server_context(issue(OTHER_ROOT, "server", ["127.0.0.1"]))) as server:
        assert "not trusted" in refused(server.port, **unchecked).reason


@pytest.mark.parametrize("trusted", [MIDDLE, BELOW])
def test_trust_in_what_is_no_root(trusted: Certificate) -> None:
    """An intermediate CA, or the broker's own certificate, may be the only trusted one, as in Java."""
    trust = {"ssl_truststore_certificates": pem(trusted.chain[0])}
    with secure_peer(server_context(BELOW)) as server, connected(server.port, **trust) as transport:
        assert exchanged(transport, b"x", 1) == b"x"


def test_revoked_certificates(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A certificate in the list is refused, others are not; a list of another CA has no effect."""
    folder = tmp_path_factory.mktemp("revoked")
    lists = {"this": revoke(ROOT, [SERVER]), "none": revoke(ROOT, []), "other": revoke(OTHER_ROOT, [])}
    for name, text in lists.items():
        (folder / name).write_text(text)
    with secure_peer(server_context(), echo) as server:
        with connected(server.port, ssl_crl_location=str(folder / "none")) as transport:
            assert exchanged(transport, b"x", 1) == b"x"
        revoked = refused(server.port, ssl_crl_location=str(folder / "this"))
        unknown = refused(server.port, ssl_crl_location=str(folder / "other"))
    assert revoked.reason == "the certificate is revoked: renew it at the broker"
    assert unknown.reason == "ssl_crl_location has no list of the authority that signed the broker's certificate"


@pytest.mark.parametrize("host", ["." * 3, "a" * 70, "a\0b"])
def test_hosts_that_are_no_names(host: str) -> None:
    """Any text as the advertised host gives a connection error."""
    with pytest.raises(ConnectionFailed) as caught:
        Transport.connect(host, 9093, Deadline.after(CLOCK, 1_000), context(tls_settings()))
    assert caught.value.phase in {"resolve", "tls"}


@pytest.mark.parametrize(
    ("host", "name"),
    [("broker.example.", "broker.example"), ("10.0.0.1", "10.0.0.1"), ("fe80::1%eth0", "fe80::1"), ("", "")],
)
def test_the_name_to_check(host: str, name: str) -> None:
    """The final dot of a full name and the zone of an address are not part of a certificate's names."""
    assert server_name(host) == name


@pytest.fixture
def two_addresses(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a host whose first address never answers, and whose second one accepts."""
    with ExitStack() as stack:
        good = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = good.getsockname()[1]
        stack.enter_context(socket.create_server(("127.0.0.2", port), backlog=0))
        for _ in range(8):  # the kernel drops what a full backlog has no room for
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.2", port))
        look_up = socket.getaddrinfo
        addresses = [
            entry for address in ("127.0.0.2", "127.0.0.1") for entry in look_up(address, port, type=socket.SOCK_STREAM)
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
        yield port


def test_an_address_without_an_answer_leaves_time_for_the_next(two_addresses: int) -> None:
    """Each address of a host gets a share of the time; one that worked is tried first the next time."""
    tried: Tried = {}
    transport = Transport.connect("two", two_addresses, Deadline.after(CLOCK, 2_000), tried=tried)
    assert transport.ip_address == "127.0.0.1"
    assert tried == {"127.0.0.2": False, "127.0.0.1": False}
    tried["127.0.0.1"] = True
    transport.close()
    started = time.monotonic()
    Transport.connect("two", two_addresses, Deadline.after(CLOCK, 20_000), tried=tried).close()
    assert time.monotonic() - started < 5
