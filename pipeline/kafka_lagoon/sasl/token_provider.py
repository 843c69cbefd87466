"""Gets bearer tokens from the user's own function, `module:function`.

Amazon's and Azure's brokers take OAUTHBEARER tokens that their own libraries sign. The function is called with the
broker's host, and returns (token, expires_at_ms) or a `kafka_lagoon.sasl.token.Token`.
"""

import importlib
from collections.abc import Callable
from typing import Any

from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import AuthenticationFailed, ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.sasl.token import Token

_SETTING = "sasl_oauthbearer_token_provider"


@frozen
class TokenProvider:
    """A function that returns tokens for a broker."""

    function: str
    host: str

    def fetch(self, _clock: Clock) -> Token:
        """The token that the function returns. ConfigError if it cannot be imported, AuthenticationFailed without a token."""
        provide = _function(self.function)
        try:
            provided = provide(self.host)
        except Exception as error:  # noqa: BLE001  the user's code may raise anything
            # Its message is not repeated: it may contain secrets.
            raise self._failed(f"failed with {_type_name(error)}") from None
        match provided:
            case Token():
                return provided
            case (str(value), int(expires_at_ms)):
                return Token(value, expires_at_ms)
        raise self._failed("returned neither (token, expires_at_ms) nor a Token")

    def _failed(self, what: str) -> AuthenticationFailed:
        return AuthenticationFailed(self.host, "authenticate", f"OAUTHBEARER: {_SETTING} {self.function} {what}")


def _function(path: str) -> Callable[[str], Any]:
    name_of_module, _, name = path.partition(":")
    if not name_of_module or not name:
        raise ConfigError([f"{_SETTING} {path}: write module:function"])
    try:
        module = importlib.import_module(name_of_module)
    except ModuleNotFoundError as error:
        raise ConfigError([f"{_SETTING} {path}: {error}"]) from error
    except Exception as error:  # noqa: BLE001  as for `fetch`
        raise ConfigError(
            [f"{_SETTING} {path}: the import of module {name_of_module} failed with {_type_name(error)}"]
        ) from None
    try:
        function: Callable[[str], Any] = getattr(module, name)
    except AttributeError:
        raise ConfigError([f"{_SETTING} {path}: module {name_of_module} has no {name}"]) from None
    return function


def _type_name(error: Exception) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"
