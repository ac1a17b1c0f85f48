"""A table -> how each of its columns was read, doubts about it, and checks of expectations."""
