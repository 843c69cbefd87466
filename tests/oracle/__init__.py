"""Kafka's own jars as the judge of our messages: their schemas, their generated codecs, their tables."""
