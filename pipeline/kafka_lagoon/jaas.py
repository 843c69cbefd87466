"""Translates a Java client's `sasl.jaas.config` into our settings.

No text of the line is ever part of a message, because a part of a password looks like an option where a quote is missing.
Error messages give positions, and the options that are allowed there.
"""

import re
from collections.abc import Iterator, Mapping

# Option of a login module -> our setting. A module is known by the last part of its class name.
_CREDENTIALS = {"username": "sasl_username", "password": "sasl_password"}
_MODULES: Mapping[str, Mapping[str, str]] = {
    "PlainLoginModule": _CREDENTIALS,
    "ScramLoginModule": _CREDENTIALS | {"tokenauth": "sasl_scram_tokenauth"},
    "OAuthBearerLoginModule": {
        "clientId": "sasl_oauthbearer_client_id",
        "clientSecret": "sasl_oauthbearer_client_secret",
        "scope": "sasl_oauthbearer_scope",
        "unsecuredLoginStringClaim_sub": "sasl_oauthbearer_unsecured_principal",
    },
    "Krb5LoginModule": {
        "principal": "sasl_kerberos_principal",
        "keyTab": "sasl_kerberos_keytab",
        "serviceName": "sasl_kerberos_service_name",
    },
}
# Settings that Java reads only from the line of a login module; it reads the service's name also from a property.
LOGIN_SETTINGS = frozenset(
    {setting for options in _MODULES.values() for setting in options.values()} | {"sasl_oauthbearer_extensions"}
) - {"sasl_kerberos_service_name"}
# Options for Java's handling of tickets; ours come from the keytab each time, or from the credential cache.
_JAVA_ONLY = frozenset({"useKeyTab", "storeKey", "useTicketCache", "renewTicket", "doNotPrompt", "refreshKrb5Config"})
_EXTENSION = "extension_"
_MODULE = re.compile(
    r"\s*(?P<name>[\w.$]+)\s+(?i:required|requisite|sufficient|optional)\b(?P<options>.*);\s*", re.DOTALL
)
_OPTION = re.compile(r"""\s*([\w.]+)\s*=\s*(?:(["'])((?:(?!\2)[^\\]|\\.)*)\2|([^\s"';]+))""", re.DOTALL)
# Escapes between quotes, as Java's StreamTokenizer reads them.
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_CONTROLS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def settings_of(text: str) -> dict[str, str]:
    """The settings in the line of one login module; ValueError says where it cannot be read."""
    module = _MODULE.fullmatch(text)
    if not module:
        raise ValueError('must be `MODULE required option="value" ...;`, and end with a semicolon')
    name = module["name"].rpartition(".")[2]
    known = _MODULES.get(name)
    if known is None:
        raise ValueError(f"the login module is not one of {', '.join(_MODULES)}")
    settings: dict[str, str] = {}
    extensions: list[str] = []
    for number, (option, value) in enumerate(_options(module["options"]), 1):
        if option in known:
            settings[known[option]] = value
        elif option.startswith(_EXTENSION) and name == "OAuthBearerLoginModule":
            extensions.append(f"{option.removeprefix(_EXTENSION)}={value}")
        elif option not in _JAVA_ONLY:
            raise ValueError(f"option {number} of {name} is not one of {', '.join([*known, *sorted(_JAVA_ONLY)])}")
    return settings | ({"sasl_oauthbearer_extensions": ",".join(extensions)} if extensions else {})


def _options(text: str) -> Iterator[tuple[str, str]]:
    position = number = 0
    while text[position:].strip():
        number += 1
        option = _OPTION.match(text, position)
        if not option or not text[position].isspace():
            raise ValueError(f'options must be name="value", separated by spaces; option {number} is not')
        position = option.end()
        yield option[1], _ESCAPE.sub(_unescaped, option[3]) if option[2] else option[4]


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1][0] in "01234567":
        return chr(int(escape[1], 8))
    return _CONTROLS.get(escape[1], escape[1])
