"""lrisk: learn and judge models on tables by spectral risks."""

__version__ = "0.1.0"
