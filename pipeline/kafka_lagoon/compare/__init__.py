"""Compares the records of topics, in one cluster or two, and finds records that are missing, doubled, altered or reordered."""
