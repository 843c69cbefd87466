"""Kafka's messages, every version of each."""
