"""Published experiments, repeated."""
