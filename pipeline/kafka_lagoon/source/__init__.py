"""The Spark data source `lagoon`: batch and stream."""
