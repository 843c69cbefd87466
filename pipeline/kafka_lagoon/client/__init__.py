"""Connects to a Kafka cluster and routes requests to its brokers; knows no table, no row and nothing of Spark."""
