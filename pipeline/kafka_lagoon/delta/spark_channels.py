"""Closes the channels between Spark's driver and its executors to others: authenticated, encrypted, on loopback.

The driver sends everything that a task needs, including settings with passwords, to each client of its block manager.
"""

import io
import pickle
import secrets
from typing import Any

from pyspark import SparkConf

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.secret import Secret

LOOPBACK = "127.0.0.1"
AUTHENTICATE, SECRET = "spark.authenticate", "spark.authenticate.secret"
_ENCRYPTS = ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled", "spark.authenticate.enableSaslEncryption")
_SEE = "see docs/executors.md"

# Only the driver and processes that it starts use these channels, so the stronger of Spark's two protocols and ciphers is
# used.
_OF_ONE_MACHINE = {
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.network.crypto.authEngineVersion": "2",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.network.crypto.saslFallback": "false",
}


def channels(conf: SparkConf) -> dict[str, str]:
    """Settings of Spark's channels; empty for a standalone cluster without a secret.

    For local masters, YARN and Kubernetes, Spark makes a secret for each application; for `local-cluster` it is made here.
    ConfigError if a standalone cluster is to authenticate and no secret is named.
    """
    master = str(conf.get("spark.master", None) or "local[*]")
    is_local = master.startswith("local")
    has_secret = conf.contains(SECRET)
    if master.startswith("spark://") and not has_secret:  # Spark reads secret files only on Kubernetes
        if conf.get(AUTHENTICATE, "false") == "true":
            raise ConfigError([f"{AUTHENTICATE}: a standalone cluster needs {SECRET} in a properties file; {_SEE}"])
        return {}
    made = {SECRET: secrets.token_hex(32)} if master.startswith("local-cluster") and not has_secret else {}
    return {AUTHENTICATE: "true", _ENCRYPTS[0]: "true", **made, **(_OF_ONE_MACHINE if is_local else {})}


def refuse_open_channels(context: Any, settings: Any) -> None:
    """Raise ConfigError if settings of tasks hold a password or key as text, and Spark would send it to any client."""
    conf = context.getConf()
    is_closed = conf.get(AUTHENTICATE, "false") == "true" and (
        context.master.startswith("local") or any(conf.get(name, "false") == "true" for name in _ENCRYPTS)
    )
    if not is_closed and _holds_text(settings):
        open_to = "a password or key given as text would be sent to executors that Spark does not authenticate"
        cure = f"give it as env:NAME or file:/path, or set {AUTHENTICATE} and {_ENCRYPTS[0]}"
        raise ConfigError([f"{open_to}: {cure}; {_SEE}"])


def _holds_text(settings: Any) -> bool:
    search = _SearchForText(io.BytesIO())
    search.dump(settings)
    return search.has_text


class _SearchForText(pickle.Pickler):
    """Pickles like Spark, and inspects each secret on the way."""

    has_text = False

    def reducer_override(self, value: Any) -> Any:
        """Inspect secrets; everything is pickled as usual."""
        self.has_text = self.has_text or (isinstance(value, Secret) and value.is_text())
        return NotImplemented
