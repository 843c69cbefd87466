"""The command line: reads arguments, calls runs and prints what they return; exit codes are made here."""
