"""Kafka's encoding rules, one by one."""
