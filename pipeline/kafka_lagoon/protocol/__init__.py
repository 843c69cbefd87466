"""Declares Kafka's protocol: the messages of each API, request headers, error codes, and which release offers what."""
