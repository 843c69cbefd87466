"""Compares the product with programs that share no code with it, at large numbers: see README.md."""
