"""A cluster under steady load and faults for minutes or hours: what jobs use must not grow."""
