"""Explains in one line why a TLS connection failed, and which setting or certificate to change.

Texts of certificates are made printable first: a peer that is not verified wrote them.
"""

import math
import re
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from kafka_lagoon.text import printable

CLOSED = (
    "closed by the peer before TLS began: a listener without TLS does that, see security_protocol, and a broker whose "
    "quota connection_creation_rate is exceeded"
)
_SHOWN_NAMES = 5
_IN_TEXT = re.compile(r"^\[\w+\] ?|\(_ssl\.c:\d+\)$")  # Python's additions to OpenSSL's message
_LONGEST_NAME = 100

# Numbers of X509_V_ERR_...
_EXPIRED, _NOT_YET_VALID = 10, 9
_OTHER_NAME = (62, 64)
_SELF_SIGNED = 18
_ISSUER_UNKNOWN = (2, 19, 20, 21)
_OTHERWISE = {
    3: "ssl_crl_location has no list of the authority that signed the broker's certificate",
    12: "the list in ssl_crl_location is out of date: fetch a new one from the authority",
    23: "the certificate is revoked: renew it at the broker",
}

_NOT_TLS = "the peer does not speak TLS: see security_protocol"
_OLD = "the broker speaks no TLS from version 1.2 on"
_WANTS_ONE = "the broker wants a certificate from clients: set ssl_keystore_location"

# Errors that OpenSSL finds itself.
_LOCAL = {
    "WRONG_VERSION_NUMBER": _NOT_TLS,
    "HTTP_REQUEST": _NOT_TLS,
    "UNKNOWN_PROTOCOL": _NOT_TLS,
    "PACKET_LENGTH_TOO_LONG": _NOT_TLS,
    "RECORD_LAYER_FAILURE": _NOT_TLS,
    "UNSUPPORTED_PROTOCOL": _OLD,
}
# A broker of Kafka 2.8 that refuses our certificate sends its whole buffer again instead of an alert alone.
_GARBAGE = (
    "the broker broke off, as old ones do that do not accept our certificate or want one: see ssl_keystore_location"
)
_FIRST_WORDS = {
    "UNEXPECTED_MESSAGE": _GARBAGE,
    "DECRYPTION_FAILED_OR_BAD_RECORD_MAC": _GARBAGE,
    "RECORD_LAYER_FAILURE": _GARBAGE,  # the same since OpenSSL 3.2
}
# Alerts (RFC 8446, section 6.2) that another attempt does not change; OpenSSL puts different prefixes before them.
_ALERTS = {
    "CERTIFICATE_REQUIRED": _WANTS_ONE,
    "NO_CERTIFICATE": _WANTS_ONE,
    "BAD_CERTIFICATE": "the broker wants a certificate from clients, or cannot read ours: see ssl_keystore_location",
    "CERTIFICATE_UNKNOWN": "the broker does not accept our certificate, which may be expired or of an authority that "
    "it does not trust: see ssl_keystore_location",
    "UNSUPPORTED_CERTIFICATE": "the broker cannot use our certificate, see ssl_keystore_location",
    "CERTIFICATE_REVOKED": "the broker says that our certificate is revoked: renew it in ssl_keystore_location",
    "CERTIFICATE_EXPIRED": "the broker says that our certificate is expired: renew it in ssl_keystore_location",
    "UNKNOWN_CA": "the broker does not trust the authority of our certificate: see ssl_keystore_location",
    "ACCESS_DENIED": "the broker refuses our certificate: see ssl_keystore_location",
    "PROTOCOL_VERSION": _OLD,
    "INSUFFICIENT_SECURITY": "the broker wants ciphers that this machine's OpenSSL does not have",
    "HANDSHAKE_FAILURE": "the broker shares no cipher with us, or wants a certificate from clients: "
    "see ssl_keystore_location",
    "UNRECOGNIZED_NAME": "the broker does not know the name that we connect to: see its advertised listeners",
}


def refusal(error: ssl.SSLError, name: str, stream: ssl.SSLSocket) -> str:
    """The reason why a handshake failed. `name` is the host's name that was checked."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _unverified(error, name, _peer_chain(stream))
    return _LOCAL.get(_reason(error)) or first_words(error) or other(error)


def first_words(error: ssl.SSLError) -> str | None:
    """The reason why the peer refused us for good, as far as its first bytes after our certificate show it."""
    return alert(error) or _FIRST_WORDS.get(_reason(error))


def alert(error: ssl.SSLError) -> str | None:
    """The reason why the peer refused us for good, None when another attempt may help."""
    _, marker, kind = _reason(error).rpartition("ALERT_")
    return _ALERTS.get(kind if marker else _reason(error).removeprefix("TLSV1_"))


def other(error: ssl.SSLError) -> str:
    """Any other error, in OpenSSL's words."""
    return f"TLS: {_reason(error).replace('_', ' ').lower() or 'failed'}"


def _reason(error: ssl.SSLError) -> str:
    """OpenSSL's name of the error. A Python that was built with the names of an older OpenSSL has it only in its text."""
    text = _IN_TEXT.sub("", error.strerror or "")
    return getattr(error, "reason", None) or text.strip().upper().replace(" ", "_")


def _unverified(error: ssl.SSLCertVerificationError, name: str, chain: Sequence[Mapping[str, Any]]) -> str:
    """The reason against the broker's certificate; `chain` are the certificates that it sent, its own first."""
    first, last = (chain[0], chain[-1]) if chain else ({}, {})
    code = error.verify_code
    if code == _EXPIRED:
        ended = min(chain, key=_end, default=first)
        return (
            f"the certificate of {title(ended, 'subject')} expired on {ended.get('notAfter')}: renew it at the broker"
        )
    if code == _NOT_YET_VALID:
        return f"the certificate begins on {first.get('notBefore')}: is the clock of this machine right?"
    if code in _OTHER_NAME:
        return f"the certificate is for {_names(first)}, not for {name}: advertise a name that it has, or add this one"
    if code == _SELF_SIGNED:
        return (
            f"the certificate of {title(first, 'subject')} is signed by itself: "
            f"put it into ssl_truststore_location if it is the right one"
        )
    if code in _ISSUER_UNKNOWN:
        return (
            f"the certificate is signed by {title(last, 'issuer')}, which is not trusted: "
            f"put that authority's certificate into ssl_truststore_location"
        )
    return _OTHERWISE.get(code, f"the certificate is not accepted: {error.verify_message}")


def _peer_chain(stream: ssl.SSLSocket) -> list[Mapping[str, Any]]:
    """The certificates that the peer sent; none when OpenSSL (before 3.0) has not kept them or cannot read them."""
    with suppress(AttributeError, ValueError, ssl.SSLError):
        chain = stream._sslobj.get_unverified_chain()  # type: ignore[attr-defined]  # noqa: SLF001  public from 3.13 on
        return [certificate.get_info() for certificate in chain or ()]
    return []


def _end(certificate: Mapping[str, Any]) -> float:
    """The end in epoch seconds. A peer may send more certificates than OpenSSL verified, with dates that are none."""
    try:
        return ssl.cert_time_to_seconds(certificate["notAfter"])
    except ValueError:
        return math.inf


def _names(certificate: Mapping[str, Any]) -> str:
    """The hosts that a certificate is for, not all of them if they are many."""
    names = [_shown(name) for kind, name in certificate.get("subjectAltName", ()) if kind in {"DNS", "IP Address"}]
    if not names:
        return f"{title(certificate, 'subject')} and names no host"
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(names[:_SHOWN_NAMES]) + more


def title(certificate: Mapping[str, Any], whose: str) -> str:
    """The common name of a certificate's subject or issuer, else its most specific name."""
    parts = [pair for group in certificate.get(whose, ()) for pair in group]
    common = [value for kind, value in parts if kind == "commonName"]
    names = common or [value for _, value in parts]
    return f"'{_shown(names[-1])}'" if names else "somebody unnamed"


def _shown(text: str) -> str:
    return printable(text[:_LONGEST_NAME])
