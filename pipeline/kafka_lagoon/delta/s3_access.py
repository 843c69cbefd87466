"""Declares how tasks on executors reach a bucket of S3.

Keys travel with the settings of a task, as those of Kafka do, and are written nowhere.
"""

from typing import TYPE_CHECKING

from kafka_lagoon.frozen import frozen

if TYPE_CHECKING:
    from kafka_lagoon.secret import Secret


@frozen
class S3Access:
    """Access to a bucket beyond its name; without keys every machine finds its own."""

    region: str | None = None
    endpoint: str | None = None  # None means Amazon's
    scheme: str = "https"
    path_style: bool = False
    anonymous: bool = False
    access_key: str | None = None
    secret_key: "Secret | None" = None
    session_token: "Secret | None" = None
