"""Our side of SASL against Kafka's own servers: both read every message of the other as intended."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote_plus, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError

from kafka_lagoon.client.authentication import Conversation, authenticate
from kafka_lagoon.client.token_endpoint import TokenEndpoint
from kafka_lagoon.errors import AuthenticationFailed
from kafka_lagoon.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafka_lagoon.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafka_lagoon.sasl.oauthbearer import OAuthBearer, unsecured
from kafka_lagoon.sasl.plain import Plain
from kafka_lagoon.sasl.scram import Scram
from kafka_lagoon.sasl.token import Token
from tests.clock import CLOCK
from tests.effort import examples
from tests.oracle.jars import KAFKAS
from tests.oracle.java_codec import JavaCodec

pytestmark = pytest.mark.java

_SCRAMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_ITERATIONS = 4096
_LIFETIME_MS = 3_600_000

# All characters that Java's strings and ours have in common, except the separator of PLAIN messages.
_words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
_odd = st.lists(
    st.sampled_from([",", "=", "=2C", "=3D", "n=", "ü", "ß", "中", "\U0001f511", " ", "a"]), min_size=1
).map("".join)
_passwords = st.one_of(_words, _odd)
# Kafka's servers read no other user names in SCRAM.
_names = st.text(st.characters(max_codepoint=127, exclude_characters="\0"), min_size=1, max_size=20)


class Server:
    """One of Kafka's SASL servers, which answers as a broker does."""

    def __init__(self, server: Any, mechanism: str) -> None:
        self.server = server
        self.handshake = SaslHandshakeResponse(error_code=0, mechanisms=(mechanism,))

    def answer(self, request: Any) -> SaslAuthenticateResponse:
        """Return the broker's response to a token."""
        try:
            token = self.server.evaluateResponse(request.auth_bytes)
        except Py4JJavaError as error:
            message = error.java_exception.getMessage()
            return SaslAuthenticateResponse(error_code=58, error_message=message, auth_bytes=b"")
        lifetime_ms = _LIFETIME_MS if self.server.isComplete() else 0
        return SaslAuthenticateResponse(
            error_code=0, error_message=None, auth_bytes=bytes(token or b""), session_lifetime_ms=lifetime_ms
        )


def authenticated(mechanism: Any, server: Any) -> str:
    """Do the whole conversation without sockets; return the user that the server has authenticated."""
    broker = Server(server, mechanism.name)
    assert _lifetime_ms(authenticate(mechanism, "broker:9092"), broker) == _LIFETIME_MS
    assert server.isComplete()
    return server.getAuthorizationID()


def _lifetime_ms(conversation: Conversation, broker: Server) -> int:
    next(conversation)
    _, request = conversation.send(broker.handshake)
    try:
        while True:
            _, request = conversation.send(broker.answer(request))
    except StopIteration as end:
        return end.value


def _scram(name: str, user: str, password: str, *, token: bool = False) -> Scram:
    return Scram(name=name, username=user, password=password, delegation_token=token)


def _plain(user: str, password: str) -> Plain:
    return Plain(username=user, password=password)


class Scrams:
    """A broker's users and delegation tokens, all with one password."""

    def __init__(self, codec: JavaCodec) -> None:
        self.jvm = codec.jvm
        self.security = codec.jvm.org.apache.kafka.common.security

    def server(self, name: str, user: str, password: str, *, token: bool = False) -> Any:
        """Make a server that knows one user, or one delegation token of user `owner`."""
        internals = self.security.scram.internals
        mechanism = internals.ScramMechanism.forMechanismName(name)
        credential = internals.ScramFormatter(mechanism).generateCredential(password, _ITERATIONS)
        kind = self.jvm.java.lang.Class.forName("org.apache.kafka.common.security.scram.ScramCredential")
        users = self.security.authenticator.CredentialCache().createCache(name, kind)
        tokens = self.security.token.delegation.internals.DelegationTokenCache(self._list(name))
        if token:
            self._add_token(tokens, user, {name: credential})
        else:
            users.put(user, credential)
        handler = internals.ScramServerCallbackHandler(users, tokens)
        handler.configure(self.jvm.java.util.HashMap(), name, self._list())
        return internals.ScramSaslServer(mechanism, self.jvm.java.util.HashMap(), handler)

    def _add_token(self, tokens: Any, token_id: str, credentials: dict[str, Any]) -> None:
        owner = self.security.auth.KafkaPrincipal("User", "owner")
        now_ms = CLOCK.now_ms()
        end_ms = now_ms + _LIFETIME_MS
        information = self.security.token.delegation.TokenInformation(
            token_id, owner, owner, self._list(), now_ms, end_ms, end_ms
        )
        by_mechanism = self.jvm.java.util.HashMap()
        for name, credential in credentials.items():
            by_mechanism.put(name, credential)
        hmac = bytearray(8)
        tokens.updateCache(self.security.token.delegation.DelegationToken(information, hmac), by_mechanism)

    def _list(self, *items: str) -> Any:
        made = self.jvm.java.util.ArrayList()
        for item in items:
            made.add(item)
        return made


@pytest.mark.parametrize("release", range(len(KAFKAS)), ids=KAFKAS)
@pytest.mark.parametrize("name", _SCRAMS)
@settings(max_examples=examples(15), deadline=None)
@given(user=_names, password=_passwords)
def test_scram(codecs: Sequence[JavaCodec], release: int, name: str, user: str, password: str) -> None:
    """Every user and password with a credential of Kafka's is accepted, and the broker's signature is right."""
    server = Scrams(codecs[release]).server(name, user, password)
    assert authenticated(_scram(name, user, password), server) == user


@pytest.mark.parametrize("name", _SCRAMS)
def test_scram_with_a_wrong_password(codecs: Sequence[JavaCodec], name: str) -> None:
    """The broker's own message is shown, without the password."""
    server = Scrams(codecs[0]).server(name, "alice", "right")
    with pytest.raises(AuthenticationFailed) as failure:
        authenticated(_scram(name, "alice", "hunter-2"), server)
    assert "Invalid client credentials" in str(failure.value)
    assert "hunter" not in str(failure.value)


def test_scram_with_an_unknown_user(codecs: Sequence[JavaCodec]) -> None:
    """The message is the same as for a wrong password."""
    server = Scrams(codecs[0]).server("SCRAM-SHA-512", "alice", "right")
    with pytest.raises(AuthenticationFailed, match="SASL_AUTHENTICATION_FAILED"):
        authenticated(_scram("SCRAM-SHA-512", "bob", "right"), server)


@pytest.mark.parametrize("release", range(len(KAFKAS)), ids=KAFKAS)
def test_delegation_token(codecs: Sequence[JavaCodec], release: int) -> None:
    """A token's id and HMAC authenticate the token's owner, with only the extension."""
    token = _scram("SCRAM-SHA-256", "id-1", "aG1hYw==", token=True)
    server = Scrams(codecs[release]).server("SCRAM-SHA-256", "id-1", "aG1hYw==", token=True)
    assert authenticated(token, server) == "owner"
    without = _scram("SCRAM-SHA-256", "id-1", "aG1hYw==")
    with pytest.raises(AuthenticationFailed):
        authenticated(without, Scrams(codecs[release]).server("SCRAM-SHA-256", "id-1", "aG1hYw==", token=True))


def _plain_server(codec: JavaCodec, user: str, password: str) -> Any:
    plain = codec.jvm.org.apache.kafka.common.security.plain
    entry = codec.jvm.javax.security.auth.login.AppConfigurationEntry
    options = codec.jvm.java.util.HashMap()
    options.put(f"user_{user}", password)
    required = entry.LoginModuleControlFlag.REQUIRED
    entries = codec.jvm.java.util.ArrayList()
    entries.add(entry("org.apache.kafka.common.security.plain.PlainLoginModule", required, options))
    handler = plain.internals.PlainServerCallbackHandler()
    handler.configure(codec.jvm.java.util.HashMap(), "PLAIN", entries)
    return plain.internals.PlainSaslServer(handler)


@settings(max_examples=examples(30), deadline=None)
@given(user=_passwords, password=_passwords)
def test_plain(codecs: Sequence[JavaCodec], user: str, password: str) -> None:
    """Every user and password without NUL is transmitted unchanged."""
    assert authenticated(_plain(user, password), _plain_server(codecs[0], user, password)) == user


def test_plain_with_a_wrong_password(codecs: Sequence[JavaCodec]) -> None:
    """The broker's message is shown, without the password."""
    with pytest.raises(AuthenticationFailed, match="Invalid username or password") as failure:
        authenticated(_plain("alice", "hunter-2"), _plain_server(codecs[0], "alice", "right"))
    assert "hunter" not in str(failure.value)


_extensions = st.dictionaries(
    st.from_regex(r"[A-Za-z]+", fullmatch=True).filter(lambda name: name != "auth"),
    st.from_regex(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?", fullmatch=True),
    max_size=3,
)


@settings(max_examples=examples(50), deadline=None)
@given(token=st.from_regex(r"[-_~+/.a-zA-Z0-9]+=*", fullmatch=True), extensions=_extensions)
def test_oauthbearer_message(codecs: Sequence[JavaCodec], token: str, extensions: dict[str, str]) -> None:
    """Java reads the given token and each extension, and would write the same bytes."""
    internals = codecs[0].jvm.org.apache.kafka.common.security.oauthbearer.internals
    ours = next(OAuthBearer(token=Token(token), extensions=tuple(extensions.items())).tokens())
    theirs = internals.OAuthBearerClientInitialResponse(ours)
    assert theirs.tokenValue() == token
    assert dict(theirs.extensions().map()) == extensions
    assert theirs.authorizationId() == ""
    if len(extensions) < 2:  # Java's map has another order
        assert bytes(theirs.toBytes()) == ours


def _bearer_server(codec: JavaCodec, required_scope: str | None = None) -> Any:
    bearer = codec.jvm.org.apache.kafka.common.security.oauthbearer
    entry = codec.jvm.javax.security.auth.login.AppConfigurationEntry
    options = codec.jvm.java.util.HashMap()
    if required_scope:
        options.put("unsecuredValidatorRequiredScope", required_scope)
    entries = codec.jvm.java.util.ArrayList()
    required = entry.LoginModuleControlFlag.REQUIRED
    entries.add(entry("org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule", required, options))
    handler = bearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler()
    handler.configure(codec.jvm.java.util.HashMap(), "OAUTHBEARER", entries)
    return bearer.internals.OAuthBearerSaslServer(handler)


@pytest.mark.parametrize("release", range(len(KAFKAS)), ids=KAFKAS)
@pytest.mark.parametrize("principal", ["alice", 'Zoë, ="\\'])
def test_unsecured_token(codecs: Sequence[JavaCodec], release: int, principal: str) -> None:
    """A development broker takes the principal of our unsigned token."""
    mechanism = OAuthBearer(token=unsecured(principal, CLOCK))
    assert authenticated(mechanism, _bearer_server(codecs[release])) == principal


def test_refused_token(codecs: Sequence[JavaCodec]) -> None:
    """The broker's reason is read and acknowledged, and shown without the token."""
    token = unsecured("alice", CLOCK)
    with pytest.raises(AuthenticationFailed, match="insufficient_scope") as failure:
        authenticated(OAuthBearer(token=token), _bearer_server(codecs[0], required_scope="admin"))
    assert token.value not in str(failure.value)


_printed = st.from_regex(r"[!-~]([ -~]*[!-~])?", fullmatch=True)


@settings(max_examples=examples(50), deadline=None)
@given(client_id=_printed, secret=_printed, scope=_printed)
def test_client_credentials(codecs: Sequence[JavaCodec], client_id: str, secret: str, scope: str) -> None:
    """Header and form equal those of Kafka's own client, which encodes the form only if configured to."""
    secured = codecs[0].jvm.org.apache.kafka.common.security.oauthbearer.internals.secured
    as_it_is = secured.ClientSecretRequestFormatter(client_id, secret, scope, False)
    encoded = secured.ClientSecretRequestFormatter(client_id, secret, scope, True)
    endpoint = TokenEndpoint(url="https://idp.example/token", client_id=client_id, client_secret=secret, scope=scope)
    head, _, form = endpoint._request(urlsplit(endpoint.url)).decode().partition("\r\n\r\n")
    assert unquote_plus(form) == unquote_plus(encoded.formatBody())
    assert f"Authorization: {as_it_is.formatHeaders()['Authorization']}" in head.split("\r\n")
