"""A Schema Registry for tests, and values that Confluent's serializers have made."""
