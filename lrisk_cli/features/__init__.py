"""Feature maps: what a predictor is linear in."""
