"""A Schema Registry for tests, and values made by Confluent's serializers."""
