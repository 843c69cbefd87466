"""Makes secrets that nothing else contains, and finds them in bytes in every spelling."""

import base64
import html
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote, quote_plus


def canary() -> str:
    """Make a secret whose spellings differ: URLs, HTML and base64 have other words for its last characters."""
    return f"Cn4-{secrets.token_hex(8)}/+&=%z"


def shapes(secret: str) -> dict[str, set[bytes]]:
    """Return the spellings of a secret, by encoding."""
    raw = secret.encode()
    texts = {
        "url": {quote(secret, ""), quote_plus(secret), quote(secret), quote(secret, "").lower()},
        "json": {json.dumps(secret)[1:-1], secret.replace("/", "\\/")},
        "html": {html.escape(secret), secret.replace("&", "&amp;")},
        "hex": {raw.hex(), raw.hex().upper()},
    }
    made = {name: {text.encode() for text in several} - {raw} for name, several in texts.items()}
    made["plain"] = {raw}
    made["utf-16"] = {secret.encode("utf-16-le"), secret.encode("utf-16-be")}
    made["base64"] = set(_inside_base64(raw))
    return made


def _inside_base64(raw: bytes) -> Iterator[bytes]:
    """Return what base64 of a longer text has, in which the secret begins at any byte: RFC 7617's is `user:password`."""
    for before in range(3):
        bits = (before + len(raw)) * 8
        for encoded in (base64.b64encode(b"\0" * before + raw), base64.urlsafe_b64encode(b"\0" * before + raw)):
            yield encoded[(before * 8 + 5) // 6 : bits // 6]


@dataclass(frozen=True, slots=True)
class Hit:
    """A secret that was found: its name, the encoding, and the place."""

    name: str
    encoding: str
    where: str


class Search:
    """Searches bytes for secrets, which are given by name; the lines of a PEM key are secrets of their own."""

    def __init__(self, named: Mapping[str, str | Iterable[str]]) -> None:
        self._shapes = [
            (name, encoding, shape)
            for name, given in named.items()
            for secret in ([given] if isinstance(given, str) else given)
            for encoding, several in shapes(secret).items()
            for shape in several
        ]

    def in_bytes(self, data: bytes, where: str) -> Iterator[Hit]:
        """Return each secret that the bytes have, once for each encoding."""
        hits = {(name, encoding): None for name, encoding, shape in self._shapes if shape in data}
        return (Hit(name, encoding, where) for name, encoding in hits)
