"""Losses of a row: values, derivatives and curvature from margins."""
