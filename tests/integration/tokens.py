"""A token endpoint on loopback: it issues signed tokens to clients with the right secret (RFC 6749, 4.4).

The signature is made by `cryptography` and checked by Kafka's own validator, so neither side is ours.
"""

import base64
import json
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

AUDIENCE, ISSUER = "kafka-of-the-tests", "https://tokens.example.org/"
_LIFETIME_S = 600


@dataclass(slots=True, kw_only=True)
class TokenEndpoint:
    """An endpoint that issues tokens to clients, and all tokens that it issued."""

    url: str
    principal: str = "lagoon"
    client_id: str = "lagoon-client"
    client_secret: str = "Wq7-client-of-the-tests"  # noqa: S105
    lifetime_s: float = _LIFETIME_S
    given: list[str] = field(default_factory=list)
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))

    def jwks(self) -> dict[str, Any]:
        """Return the public key in the form that brokers need (RFC 7517)."""
        numbers = self.key.public_key().public_numbers()
        parts = {"n": numbers.n, "e": numbers.e}
        spelled = {name: _text(number.to_bytes((number.bit_length() + 7) // 8)) for name, number in parts.items()}
        return {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one", **spelled}]}

    def token(self) -> str:
        """Make a new token (RFC 7519)."""
        now = time.time()
        claims = {"sub": self.principal, "iss": ISSUER, "aud": AUDIENCE, "iat": int(now), "exp": now + self.lifetime_s}
        head = {"alg": "RS256", "typ": "JWT", "kid": "one"}
        signed = ".".join(_text(json.dumps(part).encode()) for part in (head, claims))
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        self.given.append(f"{signed}.{_text(signature)}")
        return self.given[-1]

    def answer(self, authorization: str, form: str) -> tuple[int, dict[str, Any]]:
        """Return status and body for a request."""
        wanted = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        if authorization != f"Basic {wanted}":
            return 401, {"error": "invalid_client", "error_description": "no such client or secret"}
        if parse_qs(form).get("grant_type") != ["client_credentials"]:
            return 400, {"error": "unsupported_grant_type"}
        return 200, {"access_token": self.token(), "token_type": "Bearer", "expires_in": int(self.lifetime_s)}


def provide() -> str:
    """Return a token; tests with an endpoint set this function."""
    raise NotImplementedError


def provided(host: str) -> tuple[str, int]:
    """Provide tokens, as users' functions do."""
    assert host == "localhost"
    return provide(), int((time.time() + _LIFETIME_S) * 1000)


@contextmanager
def token_endpoint(certificate_and_key: str) -> Iterator[TokenEndpoint]:
    """Run an endpoint with this certificate, which must name `localhost`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            status, answer = endpoint.answer(self.headers.get("Authorization", ""), form)
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = _tls(certificate_and_key).wrap_socket(server.socket, server_side=True)
        endpoint = TokenEndpoint(url=f"https://localhost:{server.server_address[1]}/token")
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield endpoint
        finally:
            server.shutdown()
            thread.join()


def _tls(certificate_and_key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(certificate_and_key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
