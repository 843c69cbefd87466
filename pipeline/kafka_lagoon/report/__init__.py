"""Makes one self-contained HTML page of what the tables say of clusters at one moment, and of the time before it."""
