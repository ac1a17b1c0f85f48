"""The Arrow functions that reading a table needs, without the 30 ms that `pyarrow.compute` takes.

`pyarrow.compute` writes a Python function for each of its 300 functions when it is imported; these
few call the same ones. Methods of arrays such as `cast` and `take` import it, so they are here too.
The private module has no public door but `pyarrow.compute`, which serves where there is none.
"""

import pyarrow as pa

try:
    from pyarrow import _compute as arrow
except ImportError:
    from pyarrow import compute as arrow


def cast(column: pa.Array, kind: pa.DataType, *, safe: bool = True) -> pa.Array:
    """The values as another type; without `safe` they may be truncated."""
    options = arrow.CastOptions.safe if safe else arrow.CastOptions.unsafe
    return arrow.call_function("cast", [column], options(kind))


def is_null(column: pa.Array) -> pa.Array:
    """Where the column is null."""
    return arrow.call_function("is_null", [column])


def invert(flags: pa.Array) -> pa.Array:
    """Not, element by element."""
    return arrow.call_function("invert", [flags])


def keep(column: pa.Array, flags: pa.Array) -> pa.Array:
    """The values whose flag is true."""
    return arrow.call_function("filter", [column, flags])


def take(column: pa.Array, indices: pa.Array) -> pa.Array:
    """The values at these indices, null where an index is."""
    return arrow.call_function("take", [column, indices])


def drop_null(column: pa.Array) -> pa.Array:
    """The values that are not null."""
    return arrow.call_function("drop_null", [column])


def unique(column: pa.Array) -> pa.Array:
    """The distinct values, in order of appearance."""
    return arrow.call_function("unique", [column])


def dictionary_encode(column: pa.Array) -> pa.Array:
    """The distinct values and their codes."""
    return arrow.call_function("dictionary_encode", [column])


def dictionary_decode(column: pa.Array) -> pa.Array:
    """The values themselves, if they are coded."""
    if not pa.types.is_dictionary(column.type):
        return column
    return take(column.dictionary, column.indices)


def trim(texts: pa.Array) -> pa.Array:
    """The texts without white space at their ends."""
    return arrow.call_function("utf8_trim_whitespace", [texts])


def clip(texts: pa.Array, n_letters: int) -> pa.Array:
    """The first letters of each text."""
    return arrow.call_function("utf8_slice_codeunits", [texts], arrow.SliceOptions(0, n_letters))


def starts_with(texts: pa.Array, prefix: str) -> pa.Array:
    """Which texts start with the prefix."""
    return arrow.call_function("starts_with", [texts], arrow.MatchSubstringOptions(prefix))


def matches(texts: pa.Array, pattern: str) -> pa.Array:
    """Which texts match the regular expression."""
    options = arrow.MatchSubstringOptions(pattern)
    return arrow.call_function("match_substring_regex", [texts], options)


def is_in(texts: pa.Array, values: pa.Array) -> pa.Array:
    """Which texts are among the values."""
    return arrow.call_function("is_in", [texts], arrow.SetLookupOptions(values))


def replace(texts: pa.Array, old: str, new: str) -> pa.Array:
    """The texts with one substring replaced by another."""
    options = arrow.ReplaceSubstringOptions(old, new)
    return arrow.call_function("replace_substring", [texts], options)


def replace_pattern(texts: pa.Array, pattern: str, new: str) -> pa.Array:
    """The texts with what matches the regular expression replaced."""
    options = arrow.ReplaceSubstringOptions(pattern, new)
    return arrow.call_function("replace_substring_regex", [texts], options)


def both(one: pa.Array, other: pa.Array) -> pa.Array:
    """And, element by element."""
    return arrow.call_function("and", [one, other])


def choose(flags: pa.Array, where_true: pa.Array, where_false: pa.Array) -> pa.Array:
    """The elements of one array where the flag is true, those of the other elsewhere."""
    return arrow.call_function("if_else", [flags, where_true, where_false])


def join(*texts: pa.Array | pa.Scalar, nulls: str = "emit_null") -> pa.Array:
    """Texts element by element, joined by the last one; nulls: what JoinOptions takes."""
    options = arrow.JoinOptions(null_handling=nulls)
    return arrow.call_function("binary_join_element_wise", list(texts), options)
