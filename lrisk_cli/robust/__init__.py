"""The probability that each row is an inlier."""
