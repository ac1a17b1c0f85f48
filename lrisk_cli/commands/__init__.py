"""One command per file: its options, and the calls it makes."""
