"""Kafka Lagoon: Apache Kafka clusters as Delta Lake tables."""

__version__ = "0.2.0"
