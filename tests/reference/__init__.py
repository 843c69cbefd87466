"""Slow and simple counterparts of the fast code in the pipeline; they share no code with it."""
