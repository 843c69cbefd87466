"""Races: separate processes do the same thing at the same moment, see README.md."""
