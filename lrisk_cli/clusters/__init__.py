"""Outlier-robust k-means."""
