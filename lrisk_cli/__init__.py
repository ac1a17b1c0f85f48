"""lrisk: learn and evaluate models on tables by spectral risks."""

__version__ = "0.2.0"
