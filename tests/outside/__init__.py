"""Compare what lrisk reads from any folder of files with what pyarrow, pandas and DuckDB read."""
