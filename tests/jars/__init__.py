"""Tests of lock files and of the jars that they name."""
