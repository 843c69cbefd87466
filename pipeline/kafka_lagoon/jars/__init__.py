"""Downloads and verifies the jars that lock files name: Delta's for Spark, and those of the sandbox's Kafka."""
