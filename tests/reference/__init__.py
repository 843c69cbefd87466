"""Slow and simple counterparts of the fast code of the pipeline; they share no code with it."""
