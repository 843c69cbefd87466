"""Kafka Lagoon: Apache Kafka clusters as Delta Lake tables."""

__version__ = "0.1.0"
