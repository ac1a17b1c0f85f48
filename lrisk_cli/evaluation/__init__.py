"""Metrics, gates, splits, cross-validation and comparisons of models."""
