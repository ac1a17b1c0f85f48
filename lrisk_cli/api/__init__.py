"""Whole commands as calls: options -> one function -> a result, without a command line."""
