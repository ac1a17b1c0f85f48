"""Paths to tables of typed batches, and results to files."""
