"""Robust fits, and the reasons for large losses."""
