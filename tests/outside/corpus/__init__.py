"""The own corpus: files made by code that show the oddities of the public suites."""

from outside.corpus.case import Case, all_cases, judge

__all__ = ["Case", "all_cases", "judge"]
