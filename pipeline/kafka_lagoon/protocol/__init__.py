"""Kafka's messages: one module per API, every version in one class; headers, names and error codes. Knows no socket."""
