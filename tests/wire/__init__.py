"""Kafka's encoding rules, one at a time."""
