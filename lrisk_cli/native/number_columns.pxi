# Columns of numbers as people write them: what their cells show, and their values.

cdef enum:
    # Places in the counts of `survey_numbers`; see `tables/column_types/numerals.py`.
    N_KNOWN, N_POINT, N_COMMA, N_POINT_ONLY, N_COMMA_ONLY, N_PLAIN, N_WHOLE, N_PADDED
    N_PERCENT, N_NO_PERCENT, N_DOTTED, N_WITH_COMMA, N_LARGE, N_SMALL
    AT_POINT, AT_COMMA = AT_POINT + N_MARKS, AT_CURRENCY = AT_COMMA + N_MARKS
    N_COUNTS = AT_CURRENCY + MOST_CURRENCIES


def number_counts() -> int:
    """How many counts `survey_numbers` makes."""
    return N_COUNTS


cdef Tokens make_tokens(const unsigned char[::1] text, const int32_t[::1] starts,
                        const int32_t[::1] by_byte, const int32_t[::1] currency) noexcept nogil:
    cdef Tokens tokens
    tokens.text, tokens.starts = &text[0], &starts[0]
    tokens.by_byte, tokens.currency = &by_byte[0], &currency[0]
    return tokens


def survey_numbers(const unsigned char[::1] data, const int64_t[::1] offsets, tuple tokens,
                   int group, int64_t[::1] counts):
    """Add to the counts what the cells data[offsets[i]:offsets[i + 1]] are as numbers.

    tokens: of currencies, as `make_tokens` takes them. group: the only mark that may stand between
    thousands, 0 for any, -1 for none.
    """
    cdef const unsigned char[::1] text = tokens[0]
    cdef const int32_t[::1] starts = tokens[1], by_byte = tokens[2], currencies = tokens[3]
    cdef Tokens known = make_tokens(text, starts, by_byte, currencies)
    cdef Py_ssize_t i
    cdef Numeral cell
    cdef int found
    cdef bint either
    with nogil:
        for i in range(offsets.shape[0] - 1):
            found = read_numeral(&data[0] + offsets[i], offsets[i + 1] - offsets[i], &known, &cell)
            if found == CELL_MISSING:
                continue
            counts[N_KNOWN] += 1
            if found == CELL_INVALID:
                continue
            cell.point = cell.point and allowed(cell.point_group, group)
            cell.comma = cell.comma and allowed(cell.comma_group, group)
            either = cell.point and cell.comma
            counts[N_POINT] += cell.point
            counts[N_COMMA] += cell.comma
            counts[N_POINT_ONLY] += cell.point and not cell.comma
            counts[N_COMMA_ONLY] += cell.comma and not cell.point
            if not (cell.point or cell.comma):
                continue
            counts[N_PLAIN] += cell.plain
            counts[N_WHOLE] += cell.whole
            counts[N_PADDED] += cell.padded
            if not cell.zero:
                counts[N_PERCENT] += cell.percent
                counts[N_NO_PERCENT] += not cell.percent
            counts[N_DOTTED] += either and cell.dotted
            counts[N_WITH_COMMA] += either and cell.with_comma
            counts[N_LARGE] += not cell.marked and cell.n_digits > 3
            counts[N_SMALL] += not cell.marked and cell.n_digits <= 3 and not cell.zero
            if cell.point:
                counts[AT_POINT + cell.point_group] += 1
            if cell.comma:
                counts[AT_COMMA + cell.comma_group] += 1
            if cell.currency >= 0:
                counts[AT_CURRENCY + cell.currency] += 1


cdef inline bint allowed(int found, int group) noexcept nogil:
    return found == 0 or group == 0 or found == group


cdef inline Py_ssize_t write_numeral(const unsigned char *s, const Numeral *cell,
                                     unsigned char decimal, unsigned char *out) noexcept nogil:
    """The number with a decimal point and nothing else; how many bytes that takes."""
    cdef Py_ssize_t i, size = 0
    cdef unsigned char c
    if cell.negative:
        out[0] = b"-"
        size = 1
    for i in range(cell.start, cell.stop):
        c = s[i]
        if b"0" <= c <= b"9" or (c | 32) == b"e" or c == b"+" or c == b"-":
            out[size] = c
            size += 1
        elif c == decimal:
            out[size] = b"."
            size += 1
    if cell.percent:
        memcpy(out + size, b"e-2", 3)
        size += 3
    return size


# Powers of ten that are numbers without rounding.
cdef double EXACT_POWERS[23]
EXACT_POWERS[:] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
]
# Another digit leaves a smaller integer below 2^53.
cdef uint64_t MOST_BEFORE_DIGIT = 900719925474098


cdef inline bint exact_numeral(const unsigned char *s, const Numeral *cell, unsigned char decimal,
                               double *value) noexcept nogil:
    """The nearest number, where an integer below 2^53 over a power of ten up to 1e22 is rounded
    once.
    """
    cdef Py_ssize_t i
    cdef unsigned char c
    cdef uint64_t digits = 0
    cdef int after = 2 if cell.percent else 0
    cdef bint fraction = False
    for i in range(cell.start, cell.stop):
        c = s[i]
        if b"0" <= c <= b"9":
            if digits > MOST_BEFORE_DIGIT:
                return False
            digits = digits * 10 + (c - 48)
            after += fraction
        elif c == decimal:
            fraction = True
        elif (c | 32) == b"e":
            return False
    if after > 22:
        return False
    value[0] = <double> digits / EXACT_POWERS[after]
    if cell.negative:
        value[0] = -value[0]
    return True


def clean_numbers(const unsigned char[::1] data, const int64_t[::1] offsets, tuple tokens,
                  int decimal, int group, int currency, int percent, double[::1] values,
                  unsigned char[::1] out, int64_t[::1] out_offsets, unsigned char[::1] found):
    """The number of each cell, NaN where it is none or has too many digits or an exponent.

    Numbers of the latter kinds are written to `out`, with a decimal point, for others to round.

    decimal: POINT or COMMA. group: the mark between thousands, -1 for none, 0 where it is open;
    currency: which one, -1 where it is open. percent: 1 where all cells but 0 have a percent sign,
    0 where none may. found: for each cell CELL_NUMBER, CELL_MISSING, CELL_INVALID or CELL_OPEN.
    out: needs 4 bytes more for each cell than there are in `data`.
    """
    cdef const unsigned char[::1] text = tokens[0]
    cdef const int32_t[::1] starts = tokens[1], by_byte = tokens[2], currencies = tokens[3]
    cdef Tokens known = make_tokens(text, starts, by_byte, currencies)
    cdef Py_ssize_t i, size = 0
    cdef const unsigned char *s
    cdef unsigned char mark = b"." if decimal == POINT else b","
    cdef Numeral cell
    cdef int what, between
    with nogil:
        for i in range(offsets.shape[0] - 1):
            s = &data[0] + offsets[i]
            what = read_numeral(s, offsets[i + 1] - offsets[i], &known, &cell)
            values[i] = NAN
            if what == CELL_NUMBER:
                between = cell.point_group if decimal == POINT else cell.comma_group
                if not (cell.point if decimal == POINT else cell.comma):
                    what = CELL_INVALID
                elif cell.percent != percent and not cell.zero:
                    what = CELL_INVALID
                elif between and group and between != group:
                    what = CELL_INVALID
                elif cell.currency >= 0 and currency >= 0 and cell.currency != currency:
                    what = CELL_INVALID
                elif (between and group == 0) or (cell.currency >= 0 and currency < 0):
                    what = CELL_OPEN
                elif not exact_numeral(s, &cell, mark, &values[i]):
                    size += write_numeral(s, &cell, mark, &out[size])
            found[i] = what
            out_offsets[i + 1] = size
