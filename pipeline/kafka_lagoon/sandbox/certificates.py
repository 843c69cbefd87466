"""Makes certificate authorities and certificates for brokers and clients of one run on loopback.

They protect nothing: keys are small and quick to make.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

from kafka_lagoon.frozen import frozen

_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


@frozen
class Certificate:
    """A certificate with its private key, and the chain that leads up to its authority, itself first."""

    key: ec.EllipticCurvePrivateKey
    chain: tuple[x509.Certificate, ...]

    def chain_pem(self) -> str:
        """The whole chain."""
        return "".join(map(pem, self.chain))

    def key_pem(self, password: str | None = None) -> str:
        """The private key, encrypted if there is a password."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(password)).decode()

    def pkcs12(self, password: str | None = None) -> bytes:
        """Chain and key as a keystore."""
        return pkcs12.serialize_key_and_certificates(
            b"key", self.key, self.chain[0], self.chain[1:], _encryption(password)
        )


def pem(certificate: x509.Certificate) -> str:
    """One certificate as text."""
    return certificate.public_bytes(Encoding.PEM).decode()


def truststore(certificates: Sequence[x509.Certificate], password: str) -> bytes:
    """A PKCS12 file of certificates that Java trusts: unlike others it marks each as trusted."""
    entries = [pkcs12.PKCS12Certificate(certificate, str(i).encode()) for i, certificate in enumerate(certificates)]
    return pkcs12.serialize_java_truststore(entries, _encryption(password))


def authority(name: str = "sandbox CA", issuer: Certificate | None = None) -> Certificate:
    """A certificate authority, its own root or below another one; valid for longer than what it signs."""
    return _signed(name, issuer, (), datetime.now(UTC) + _WEEK + _DAY, is_authority=True)


def issue(
    issuer: Certificate, name: str, hosts: Sequence[str] = (), *, valid_until: datetime | None = None
) -> Certificate:
    """A certificate for a server at `hosts` (names or addresses), or for a client without any; valid for a week."""
    return _signed(name, issuer, hosts, valid_until or datetime.now(UTC) + _WEEK, is_authority=False)


def revoke(issuer: Certificate, revoked: Sequence[Certificate]) -> str:
    """The authority's list of revoked certificates, as PEM."""
    now = datetime.now(UTC)
    made = x509.CertificateRevocationListBuilder(issuer.chain[0].subject, now - _WEEK, now + _WEEK)
    for certificate in revoked:
        number = certificate.chain[0].serial_number
        made = made.add_revoked_certificate(x509.RevokedCertificateBuilder(number, now - timedelta(hours=1)).build())
    return made.sign(issuer.key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def _signed(
    name: str, issuer: Certificate | None, hosts: Sequence[str], valid_until: datetime, *, is_authority: bool
) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.chain[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(valid_until - 2 * _WEEK)
        .not_valid_after(valid_until)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if hosts:
        made = made.add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False)
    certificate = made.sign(issuer.key if issuer else key, hashes.SHA256())
    return Certificate(key=key, chain=(certificate, *(issuer.chain if issuer else ())))


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _encryption(password: str | None) -> KeySerializationEncryption:
    return BestAvailableEncryption(password.encode()) if password else NoEncryption()
