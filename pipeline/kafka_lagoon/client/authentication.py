"""Authenticates a connection by SASL: SaslHandshake, then SaslAuthenticate until the mechanism is done.

It is a generator without sockets. A failure is one line that names the mechanism and the cause, and contains no secret.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any, TypeAlias

from kafka_lagoon.errors import AuthenticationFailed
from kafka_lagoon.protocol.error_codes import error_code
from kafka_lagoon.protocol.messages.sasl_authenticate import (
    SASL_AUTHENTICATE,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafka_lagoon.protocol.messages.sasl_handshake import SASL_HANDSHAKE, SaslHandshakeRequest, SaslHandshakeResponse
from kafka_lagoon.sasl.conversation import Login, MechanismFailed, quoted
from kafka_lagoon.wire.schema import Api, Versions

# After a handshake of version 0 tokens follow without a header (Kafka 0.10), so their errors could not be reported.
FRAMED_HANDSHAKE = replace(SASL_HANDSHAKE, versions=Versions(1, 1))

_MOST_ROUNDS = 16  # GSSAPI takes four; the bound ends an exchange with a broker that always wants more

Conversation: TypeAlias = Generator[tuple[Api[Any, Any], Any], Any, int]


def authenticate(login: Login, address: str) -> Conversation:
    """Yields (api, request), is sent the response, and returns the session's lifetime in ms (KIP-368), 0 if unlimited.

    AuthenticationFailed when the broker at `address` refuses, or fails a proof that the mechanism demands of it.
    """
    try:
        handshake = yield FRAMED_HANDSHAKE, SaslHandshakeRequest(mechanism=login.name)
        _check_handshake(handshake)
        return (yield from _exchange(login))
    except MechanismFailed as failure:
        raise AuthenticationFailed(address, "authenticate", f"{login.name}: {failure}") from None


def _exchange(login: Login) -> Conversation:
    tokens = login.tokens()
    token = next(tokens)
    for _ in range(_MOST_ROUNDS):
        response: SaslAuthenticateResponse = yield SASL_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=token)
        if response.error_code:
            tokens.throw(_refusal(response, login.secrets))
        try:
            token = tokens.send(response.auth_bytes)
        except StopIteration:
            return response.session_lifetime_ms
    raise MechanismFailed(f"the broker goes on after {_MOST_ROUNDS} messages")


def _check_handshake(response: SaslHandshakeResponse) -> None:
    match error_code(response.error_code).name:
        case "NONE":
            return
        case "UNSUPPORTED_SASL_MECHANISM":
            offered = ", ".join(response.mechanisms) or "no mechanism"
            raise MechanismFailed(f"broker offers {quoted(offered, ())}; see sasl_mechanism")
        case "ILLEGAL_SASL_STATE":
            raise MechanismFailed("this listener does not authenticate; see security_protocol")
        case name:
            raise MechanismFailed(f"the broker answered {name}")


def _refusal(response: SaslAuthenticateResponse, secrets: tuple[str, ...]) -> MechanismFailed:
    name = error_code(response.error_code).name
    return MechanismFailed(f"{name}: {quoted(response.error_message, secrets)}" if response.error_message else name)
