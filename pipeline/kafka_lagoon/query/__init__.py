"""Runs SQL over the tables and views, by DuckDB or by Spark."""
