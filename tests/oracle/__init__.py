"""Kafka's own jars as the oracle of our messages: their schemas, their generated codecs, their tables."""
