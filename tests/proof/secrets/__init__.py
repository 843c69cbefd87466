"""Secrets that are searched for in every place that a run leaves or shows: see README.md."""
