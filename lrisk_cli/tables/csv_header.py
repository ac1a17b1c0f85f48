"""The header of delimited text: where it ends, what separates its fields, and their texts."""

import re
from collections import Counter

DELIMITERS = (",", "\t", ";", "|")


def find_header_end(start: bytes, skipped: int, marks: bytes) -> int:
    """Offset just after the header, which may hold line ends in quotes; 0 where it does not end.

    marks: the characters that may be its delimiter; quotes have a meaning only after one of them.
    A CR at the very end may be half of a CRLF, so it is no end.
    """
    stops = re.escape(marks) + rb"\r\n"
    field = rb'(?:"[^"]*+(?:""[^"]*+)*+"[^%b]*+|[^"%b][^%b]*+)?+' % (stops, stops, stops)
    fields = field + rb"(?:[" + re.escape(marks) + rb"]" + field + rb")*+"
    found = re.compile(fields + rb"(?:\n|\r\n|\r(?=[^\n]))").match(start, skipped)
    return found.end() if found else 0


def guess_delimiter(header: str) -> str:
    """The likeliest separator: the commonest of them outside quotes, a comma when there is none."""
    counts = Counter(re.sub(r'"[^"]*"', "", header))
    return max(DELIMITERS, key=lambda mark: (counts[mark], mark == ","))


def split_fields(record: str, delimiter: str) -> tuple[str, ...]:
    """The fields of one record. Quotes have a meaning only where a field begins."""
    mark = re.escape(delimiter)
    field = re.compile(rf'(?:"((?:[^"]|"")*+)")?([^{mark}]*+)(?:{mark}|\Z)')
    fields, at = [], 0
    while True:
        # A last field that opens a quote and never closes it is refused before.
        found = field.match(record, at)
        if found is None:
            raise ValueError("the record opens a quote that it does not close")
        quoted, plain = found.groups()
        fields.append((quoted or "").replace('""', '"') + plain)
        at = found.end()
        if at == len(record) and not found[0].endswith(delimiter):
            return tuple(fields)
