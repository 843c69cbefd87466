"""Starts one real broker with every kind of secured listener, and makes the security settings of two clients for each.

Each security mode is given twice: as our settings and as librdkafka's, which is how it is proved that a refusal is ours. All of
them lead to the same user, `lagoon`, who may do everything; `limited` may do what a test allows, and `guest` nothing. What
the plain listener is for is setting up: whoever comes there is a super user.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kafka_lagoon.sandbox.certificates import Certificate, authority, issue, pem
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.sandbox.node import Listener
from tests.integration import every_broker, tokens
from tests.integration.tokens import AUDIENCE, ISSUER, TokenEndpoint, token_endpoint

USER, LIMITED, GUEST = "lagoon", "limited", "guest"
PASSWORD = "Wq7-open-sesame-4711"  # noqa: S105  of a broker that lives for a minute
KEY_PASSWORD = "Wq7-locked-away-0815"  # noqa: S105
# Session lifetime for listener SCRAM (KIP-368), with SCRAM-SHA-512 and with SCRAM-SHA-256. Brokers refuse another
# authentication within a second.
SESSION_MS, SHORTEST_SESSION_MS = 2_000, 1_000

LISTENERS = (
    Listener("SCRAM", "SASL_PLAINTEXT"),
    Listener("LOGIN", "SASL_SSL"),
    Listener("ENCRYPTED", "SSL"),
    Listener("MUTUAL", "SSL"),
    Listener("EXPIRED", "SSL"),
    Listener("ELSEWHERE", "SSL"),
)
SIGNED_TOKENS = Listener("TOKENS", "SASL_SSL")

# Security modes that every release has, and the mode with tokens that a server signs.
WAYS = ("scram-256", "scram-512", "plain-tls", "scram-tls", "token-tls", "tls", "mutual")
SIGNED_WAY, PROVIDED_WAY, GIVEN_WAY = "signed-token-tls", "provided-token-tls", "given-token-tls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    """A broker, and the credentials of its clients."""

    kafka: LocalKafka
    folder: Path
    tokens: TokenEndpoint | None

    def file(self, name: str) -> str:
        """Return the path of a certificate, key or both as PEM."""
        return str(self.folder / f"{name}.pem")

    def settings(self, way: str) -> dict[str, str]:
        """Make our settings of a security mode."""
        listener, mechanism = _WAYS[way]
        settings = {"bootstrap_servers": self.kafka.bootstrap(listener.name), "security_protocol": listener.protocol}
        if listener.protocol.endswith("SSL"):
            settings["ssl_truststore_location"] = self.file("ca")
        if mechanism:
            settings["sasl_mechanism"] = mechanism
        if mechanism == "OAUTHBEARER":
            return settings | self._token(way)
        if mechanism:
            return settings | {"sasl_username": USER, "sasl_password": PASSWORD}
        if way == "mutual":
            return settings | {"ssl_keystore_location": self.file("client"), "ssl_key_password": KEY_PASSWORD}
        return settings

    def peer(self, way: str) -> dict[str, str]:
        """Make librdkafka's properties of the same security mode."""
        ours = self.settings(way)
        same = {_PEER[name]: value for name, value in ours.items() if name in _PEER}
        if way == "mutual":
            return same | {"ssl.certificate.location": ours["ssl_keystore_location"]}
        if way == "token-tls":
            unsigned = {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": f"principal={USER}"}
            return same | unsigned
        return same | (
            {"sasl.oauthbearer.method": "oidc", "https.ca.location": self.file("ca")} if "token" in way else {}
        )

    def secrets(self) -> list[bytes]:
        """Return texts that must never be shown: passwords, lines of private keys, signatures of tokens."""
        keys = [self.folder.joinpath(f"{name}.pem").read_text() for name in ("client", "lapsed")]
        lines = [line for key in keys for line in key.partition("-----END")[0].splitlines()[1:]]
        tokens = [token.rpartition(".")[2] for token in self.tokens.given] if self.tokens else []
        client = [self.tokens.client_secret] if self.tokens else []
        return [one.encode() for one in (PASSWORD, KEY_PASSWORD, *lines, *tokens, *client)]

    def _token(self, way: str) -> dict[str, str]:
        if way == "token-tls":
            return {"sasl_oauthbearer_unsecured_principal": USER}
        assert self.tokens
        if way == PROVIDED_WAY:
            tokens.provide = self.tokens.token
            return {"sasl_oauthbearer_token_provider": "tests.integration.tokens:provided"}
        if way == GIVEN_WAY:
            self.folder.joinpath("token").write_text(self.tokens.token())
            return {"sasl_oauthbearer_token": f"file:{self.folder / 'token'}"}
        return {
            "sasl_oauthbearer_token_endpoint_url": self.tokens.url,
            "sasl_oauthbearer_allowed_urls": self.tokens.url,
            "sasl_oauthbearer_client_id": self.tokens.client_id,
            "sasl_oauthbearer_client_secret": self.tokens.client_secret,
        }


_BY_NAME = {one.name: one for one in (*LISTENERS, SIGNED_TOKENS)}
_WAYS: Mapping[str, tuple[Listener, str | None]] = {
    "scram-256": (_BY_NAME["SCRAM"], "SCRAM-SHA-256"),
    "scram-512": (_BY_NAME["SCRAM"], "SCRAM-SHA-512"),
    "plain-tls": (_BY_NAME["LOGIN"], "PLAIN"),
    "scram-tls": (_BY_NAME["LOGIN"], "SCRAM-SHA-512"),
    "token-tls": (_BY_NAME["LOGIN"], "OAUTHBEARER"),
    "tls": (_BY_NAME["ENCRYPTED"], None),
    "mutual": (_BY_NAME["MUTUAL"], None),
    **dict.fromkeys((SIGNED_WAY, PROVIDED_WAY, GIVEN_WAY), (SIGNED_TOKENS, "OAUTHBEARER")),
}
_PEER = {
    "bootstrap_servers": "bootstrap.servers",
    "security_protocol": "security.protocol",
    "ssl_truststore_location": "ssl.ca.location",
    "sasl_mechanism": "sasl.mechanism",
    "sasl_username": "sasl.username",
    "sasl_password": "sasl.password",
    "ssl_keystore_location": "ssl.key.location",
    "ssl_key_password": "ssl.key.password",
    "sasl_oauthbearer_token_endpoint_url": "sasl.oauthbearer.token.endpoint.url",
    "sasl_oauthbearer_client_id": "sasl.oauthbearer.client.id",
    "sasl_oauthbearer_client_secret": "sasl.oauthbearer.client.secret",
}


@contextmanager
def secured_kafka(folder: Path, version: str, java_options: Sequence[str] = ()) -> Iterator[Secured]:
    """Run one broker of a release, with its users and their permissions; `java_options` are further ones of its JVM."""
    certificates = folder / "certificates"
    certificates.mkdir()
    server = _write_certificates(certificates)
    with token_endpoint(server.chain_pem() + server.key_pem()) as endpoint:
        signed = not version.startswith("2.")
        (certificates / "jwks.json").write_text(json.dumps(endpoint.jwks()))
        jwks_url = (certificates / "jwks.json").as_uri()
        listeners = (*LISTENERS, SIGNED_TOKENS) if signed else LISTENERS
        with LocalKafka(
            folder / "kafka",
            version=version,
            listeners=listeners,
            properties=_properties(certificates, version) | (_signed_tokens(jwks_url) if signed else {}),
            java_options=[f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={jwks_url}", *java_options],
        ) as kafka:
            _make_users(kafka)
            yield Secured(kafka=kafka, folder=certificates, tokens=endpoint if signed else None)


def allow(
    kind: ResourceType,
    name: str,
    operation: AclOperation,
    *,
    user: str = LIMITED,
    permission: AclPermissionType = AclPermissionType.ALLOW,
) -> AclBinding:
    """Make an ACL for one user from any host."""
    return AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, permission)


def add_rules(kafka: LocalKafka, *rules: AclBinding) -> None:
    """Create ACLs, and wait until they are in effect at every broker."""
    every_broker.create_acls(kafka.bootstrap_servers, rules)


def _write_certificates(folder: Path) -> Certificate:
    """Write PEM files; return the certificates of the broker's good listeners."""
    ours, theirs = authority("sandbox CA"), authority("somebody else's CA")
    over = datetime.now(UTC) - timedelta(days=1)
    server = issue(ours, "broker", ["localhost", "127.0.0.1"])
    for name, certificate in (
        ("server", server),
        ("expired", issue(ours, "broker", ["localhost"], valid_until=over)),
        ("elsewhere", issue(ours, "broker", ["kafka.example.org"])),
    ):
        (folder / f"{name}.p12").write_bytes(certificate.pkcs12(KEY_PASSWORD))
    for name, certificate, password in (
        ("client", issue(ours, USER), KEY_PASSWORD),
        ("lapsed", issue(ours, USER, valid_until=over), None),
        ("stranger", issue(theirs, USER), None),
    ):
        (folder / f"{name}.pem").write_text(certificate.key_pem(password) + certificate.chain_pem())
    (folder / "ca.pem").write_text(pem(ours.chain[0]))
    (folder / "other-ca.pem").write_text(pem(theirs.chain[0]))
    return server


def _properties(certificates: Path, version: str) -> dict[str, str]:
    on_zookeeper = version.startswith("2.")
    kraft = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    return {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer" if on_zookeeper else kraft,
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "false",
        "num.network.threads": "1",  # for each listener
        **({} if on_zookeeper else {"delegation.token.secret.key": KEY_PASSWORD}),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": f"{certificates}/server.p12",
        "ssl.keystore.password": KEY_PASSWORD,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": f"{certificates}/ca.pem",
        "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/,DEFAULT",
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.expired.ssl.keystore.location": f"{certificates}/expired.p12",
        "listener.name.elsewhere.ssl.keystore.location": f"{certificates}/elsewhere.p12",
        **_SASL,
    }


_MODULE = "org.apache.kafka.common.security"
_PLAIN_USERS = " ".join(f'user_{user}="{PASSWORD}"' for user in (USER, LIMITED, GUEST))
_SASL = {
    "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.scram.scram-sha-256.sasl.jaas.config": f"{_MODULE}.scram.ScramLoginModule required;",
    "listener.name.scram.scram-sha-512.sasl.jaas.config": f"{_MODULE}.scram.ScramLoginModule required;",
    "listener.name.scram.scram-sha-512.connections.max.reauth.ms": str(SESSION_MS),
    "listener.name.scram.scram-sha-256.connections.max.reauth.ms": str(SHORTEST_SESSION_MS),
    "listener.name.login.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
    "listener.name.login.plain.sasl.jaas.config": f"{_MODULE}.plain.PlainLoginModule required {_PLAIN_USERS};",
    "listener.name.login.scram-sha-512.sasl.jaas.config": f"{_MODULE}.scram.ScramLoginModule required;",
    "listener.name.login.oauthbearer.sasl.jaas.config": f"{_MODULE}.oauthbearer.OAuthBearerLoginModule required;",
}


def _signed_tokens(jwks_url: str) -> dict[str, str]:
    """Configure the listener that verifies the signatures of tokens."""
    here = "listener.name.tokens"
    return {
        f"{here}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{here}.oauthbearer.sasl.jaas.config": f"{_MODULE}.oauthbearer.OAuthBearerLoginModule required;",
        f"{here}.oauthbearer.sasl.server.callback.handler.class": (
            f"{_MODULE}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
        f"{here}.sasl.oauthbearer.jwks.endpoint.url": jwks_url,
        f"{here}.sasl.oauthbearer.expected.audience": AUDIENCE,
        f"{here}.sasl.oauthbearer.expected.issuer": ISSUER,
    }


def _make_users(kafka: LocalKafka) -> None:
    users = [
        UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
        for user in (USER, LIMITED, GUEST)
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
    ]
    every_broker.create_users(kafka.bootstrap_servers, users)
    kinds = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    everything = [allow(kind, "*", AclOperation.ALL, user=USER) for kind in kinds]
    add_rules(kafka, *everything, allow(ResourceType.BROKER, "kafka-cluster", AclOperation.ALL, user=USER))
