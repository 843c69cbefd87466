"""Tests of the Kafka brokers that we start ourselves."""
