"""Declares every table: its columns, their types and meaning, and its schema in Delta. It imports no other package of ours."""
