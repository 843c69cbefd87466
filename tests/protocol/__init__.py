"""Kafka's messages, in every version."""
