"""The figures of the spectral-risk paper, measured again."""
