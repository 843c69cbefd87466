"""Slow and obvious twins of what is fast in the pipeline; they share no code with it."""
