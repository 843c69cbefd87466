"""Compares the records of topics, in one cluster or two, and says what is missing, doubled, altered or reordered."""
