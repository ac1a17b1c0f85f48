# Numbers as people write them: separators, currency, percent, parentheses, signs of Unicode.

cdef enum:
    # The marks between digits. Spaces of all kinds are one, and so are both apostrophes.
    POINT = 1, COMMA = 2, APOSTROPHE = 3, BLANK = 4, N_MARKS = 5
    MOST_CURRENCIES = 64

cdef enum:
    # What a cell is to `clean_numbers`. OPEN: only the rest of the column says how to read it.
    CELL_NUMBER = 0, CELL_MISSING = 1, CELL_INVALID = 2, CELL_OPEN = 3

cdef struct Tokens:
    # Texts of currencies in the order of their first bytes; the longer ones of a byte first.
    const unsigned char *text
    const int32_t *starts  # of each text, and where the last one ends
    const int32_t *by_byte  # the first text of each first byte, (257,)
    const int32_t *currency  # what each text stands for


cdef struct Numeral:
    # A cell. start, stop: of its digits, marks and exponent. point, comma: whether it is a number
    # with this decimal mark; point_group, comma_group: the mark between its thousands then, or 0.
    Py_ssize_t start, stop
    int currency, point_group, comma_group, n_digits
    bint point, comma, negative, percent, plain, whole, padded, marked, dotted, with_comma, zero


cdef inline int blank_at(const unsigned char *s, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """How many bytes the space at s[i] has, 0 where there is none."""
    cdef unsigned char c = s[i]
    if c == 32 or (9 <= c and c <= 13):
        return 1
    if c == 0xC2:
        return 2 if i + 1 < n and s[i + 1] == 0xA0 else 0
    if c == 0xE2 and i + 2 < n:
        if s[i + 1] == 0x80 and ((0x80 <= s[i + 2] and s[i + 2] <= 0x8A) or s[i + 2] == 0xAF):
            return 3
        return 3 if s[i + 1] == 0x81 and s[i + 2] == 0x9F else 0
    if c == 0xE3 and i + 2 < n and s[i + 1] == 0x80 and s[i + 2] == 0x80:
        return 3
    return 0


cdef inline Py_ssize_t skip_blanks(const unsigned char *s, Py_ssize_t i,
                                   Py_ssize_t n) noexcept nogil:
    cdef int size
    while i < n:
        size = blank_at(s, i, n)
        if size == 0:
            break
        i += size
    return i


cdef inline int minus_at(const unsigned char *s, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """How many bytes the minus at s[i] has: a hyphen, an en dash, or the minus of Unicode."""
    if s[i] == b"-":
        return 1
    if s[i] == 0xE2 and i + 2 < n:
        if (s[i + 1] == 0x88 and s[i + 2] == 0x92) or (s[i + 1] == 0x80 and s[i + 2] == 0x93):
            return 3
    return 0


cdef inline int token_at(const Tokens *tokens, const unsigned char *s, Py_ssize_t i, Py_ssize_t n,
                         int *currency) noexcept nogil:
    """How many bytes the currency at s[i] has, 0 where there is none."""
    cdef int k, size
    for k in range(tokens.by_byte[s[i]], tokens.by_byte[s[i] + 1]):
        size = tokens.starts[k + 1] - tokens.starts[k]
        if size <= n - i and memcmp(s + i, tokens.text + tokens.starts[k], size) == 0:
            currency[0] = tokens.currency[k]
            return size
    return 0


cdef inline int mark_at(const unsigned char *s, Py_ssize_t i, Py_ssize_t n,
                        int *kind) noexcept nogil:
    """How many bytes the mark between digits at s[i] has, and its kind; 0 where there is none."""
    cdef unsigned char c = s[i]
    cdef int size = 1
    if c == b".":
        kind[0] = POINT
        return 1
    if c == b",":
        kind[0] = COMMA
        return 1
    if c == b"'":
        kind[0] = APOSTROPHE
    elif c == 0xE2 and i + 2 < n and s[i + 1] == 0x80 and s[i + 2] == 0x99:
        kind[0] = APOSTROPHE
        size = 3
    elif c == 32 or c >= 0xC2:
        kind[0] = BLANK
        size = blank_at(s, i, n)
    else:
        return 0
    # These two only stand between digits.
    if size == 0 or i + size >= n or not (b"0" <= s[i + size] <= b"9"):
        return 0
    return size


cdef struct Runs:
    # Digits between marks. first, before, last: lengths of the first run, of the one before the
    # last mark, of the last; n_twos, n_threes: of those after the first that end at a mark.
    Py_ssize_t first, before, last, n_marks, n_twos, n_threes, n_digits
    int first_mark, last_mark
    bint uniform  # all marks but the last are the same
    bint led  # the first digit is 0


cdef inline Py_ssize_t read_runs(const unsigned char *s, Py_ssize_t i, Py_ssize_t n,
                                 Runs *runs) noexcept nogil:
    """The digits and marks from s[i] on, and where they end."""
    cdef Py_ssize_t run = 0
    cdef int kind = 0, size
    memset(runs, 0, sizeof(Runs))
    runs.uniform = True
    runs.led = i < n and s[i] == b"0"
    while i < n:
        if b"0" <= s[i] <= b"9":
            run += 1
            i += 1
            continue
        size = mark_at(s, i, n, &kind)
        if size == 0:
            break
        if runs.n_marks == 0:
            runs.first, runs.first_mark = run, kind
        else:
            runs.n_twos += run == 2
            runs.n_threes += run == 3
            runs.uniform &= runs.last_mark == runs.first_mark
        runs.before = run
        runs.n_digits += run
        runs.last_mark = kind
        runs.n_marks += 1
        run = 0
        i += size
    if runs.n_marks == 0:
        runs.first = run
    runs.last = run
    runs.n_digits += run
    return i


cdef inline bint groups_of(const Runs *runs, Py_ssize_t n_inner, Py_ssize_t final,
                           int kind) noexcept nogil:
    """Whether whole digits are grouped by thousands, or by hundreds before the last three as in
    India. n_inner: runs between the first and the last one, all of which end at a mark; final: the
    length of the last.
    """
    cdef Py_ssize_t n_threes = runs.n_threes, n_twos = runs.n_twos
    if runs.first < 1 or runs.first > 3 or final != 3:
        return False
    # A leading zero is that of a fraction, or of a code; a group of zeros is none either.
    if runs.led:
        return False
    # The last run ends at a mark too where a fraction follows.
    n_threes -= n_inner < runs.n_marks - 1
    if n_threes == n_inner:
        return True
    return kind == COMMA and runs.first <= 2 and n_inner > 0 and n_twos == n_inner


cdef inline bint readable(const Runs *runs, int decimal, int *group) noexcept nogil:
    """Whether the digits are a number with this decimal mark; the mark between thousands, or 0."""
    group[0] = 0
    if runs.n_digits == 0:
        return False
    if runs.n_marks == 0:
        return True
    if runs.last_mark == decimal:
        if runs.n_marks == 1:
            return True
        group[0] = runs.first_mark
        return (runs.uniform and runs.first_mark != decimal
                and groups_of(runs, runs.n_marks - 2, runs.before, group[0]))
    group[0] = runs.first_mark
    return (runs.uniform and runs.last_mark == runs.first_mark
            and groups_of(runs, runs.n_marks - 1, runs.last, group[0]))


cdef inline bint is_nan(const unsigned char *s, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    return (n - i == 3 and (s[i] | 32) == b"n" and (s[i + 1] | 32) == b"a"
            and (s[i + 2] | 32) == b"n")


cdef int read_numeral(const unsigned char *s, Py_ssize_t n, const Tokens *tokens,
                      Numeral *cell) noexcept nogil:
    """CELL_NUMBER where the text is a number with one of the decimal marks, else what it is."""
    cdef Py_ssize_t i = skip_blanks(s, 0, n), at, first
    cdef int size
    cdef bint opened = False, closed = False, signed = False, bare = True, exponent = False
    cdef Runs runs
    cell.currency, cell.negative, cell.percent = -1, False, False
    while n > i and (s[n - 1] == 32 or (9 <= s[n - 1] and s[n - 1] <= 13)):
        n -= 1
    if i == n:
        return CELL_MISSING
    first = i
    while i < n and not (b"0" <= s[i] <= b"9"):
        if s[i] == b"." or s[i] == b",":
            break
        if s[i] == b"(" and not opened and not signed:
            opened, size, bare = True, 1, False
        elif s[i] == b"+" and not signed and not opened:
            signed, size = True, 1
        else:
            size = minus_at(s, i, n)
            if size and not signed and not opened:
                signed = cell.negative = True
                bare &= size == 1
            elif size == 0 and cell.currency < 0:
                size, bare = token_at(tokens, s, i, n, &cell.currency), False
            else:
                size = 0
        if size == 0:
            i = first + (s[first] == b"+" or s[first] == b"-")
            return CELL_MISSING if is_nan(s, i, n) else CELL_INVALID
        at = i + size
        i = skip_blanks(s, at, n)
        bare &= i == at
    cell.start = i
    i = read_runs(s, i, n, &runs)
    cell.stop = i
    cell.whole = bare and runs.n_marks == 0
    if i < n and (s[i] | 32) == b"e" and runs.n_marks <= 1 and runs.n_digits > 0:
        at = i + 1
        at += at < n and (s[at] == b"+" or s[at] == b"-")
        while at < n and b"0" <= s[at] <= b"9":
            exponent, cell.whole = True, False
            cell.stop = at + 1
            at += 1
        i = cell.stop
    while i < n:
        size = blank_at(s, i, n)
        if size:
            i += size
            bare &= i == n
            continue
        bare = False
        # 12.- and 12,-- are whole amounts.
        size = minus_at(s, i, n) if s[i - 1] == b"." or s[i - 1] == b"," else 0
        if size:
            size += i + size < n and s[i + size] == b"-"
        elif s[i] == b"%" and not cell.percent and not closed:
            cell.percent, size = True, 1
        elif s[i] == b")" and opened and not closed:
            closed, size = True, 1
        elif cell.currency < 0:
            size = token_at(tokens, s, i, n, &cell.currency)
        if size == 0:
            return CELL_INVALID
        i += size
    if opened != closed or runs.n_digits == 0:
        return CELL_INVALID
    cell.negative |= opened
    cell.point = readable(&runs, POINT, &cell.point_group)
    cell.comma = readable(&runs, COMMA, &cell.comma_group)
    # An exponent goes with neither percent nor groups.
    cell.point &= not (exponent and cell.point_group)
    cell.comma &= not (exponent and cell.comma_group)
    if not (cell.point or cell.comma) or (exponent and cell.percent):
        return CELL_INVALID
    cell.whole &= bare
    cell.plain = bare and cell.point and cell.point_group == 0
    cell.padded = cell.whole and runs.led and runs.n_digits > 1
    cell.marked = runs.n_marks > 0
    cell.dotted = runs.first_mark == POINT or runs.last_mark == POINT
    cell.with_comma = runs.first_mark == COMMA or runs.last_mark == COMMA
    cell.n_digits = <int> runs.n_digits
    cell.zero = runs.n_digits == 1 and runs.led
    return CELL_NUMBER
