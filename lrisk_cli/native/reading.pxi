# Cells on their way into a matrix: digests of columns, columns side by side, scaled and one-hot.

cdef uint64_t NAN_WORD = 0x7FF8000000000000
cdef uint64_t INFINITE_WORD = 0x7FF0000000000000
cdef uint64_t WITHOUT_SIGN = 0x7FFFFFFFFFFFFFFF
cdef uint64_t FIRST_MULTIPLIER = 0x9E3779B97F4A7C15
cdef uint64_t SECOND_MULTIPLIER = 0xC2B2AE3D27D4EB4F


cdef inline uint64_t scramble(uint64_t word, uint64_t multiplier) noexcept nogil:
    word *= multiplier
    return word ^ (word >> 32)


cdef inline void digest_word(uint64_t word, uint64_t row, uint64_t *sums) noexcept nogil:
    """Add the word, scrambled, times two odd weights of the row number; sums wrap around."""
    row *= SECOND_MULTIPLIER
    word = scramble(word, FIRST_MULTIPLIER)
    sums[0] += word * (scramble(row, FIRST_MULTIPLIER) | 1)
    sums[1] += word * (scramble(row, SECOND_MULTIPLIER) | 1)


cdef enum:
    # Codes that are looked up before their words are digested, many at a time.
    LOOKED_UP = 512


cdef inline void digest_texts(const uint64_t *words, Py_ssize_t n, uint64_t first_row,
                              uint64_t *sums) noexcept nogil:
    """Add words of texts to the sums."""
    cdef Py_ssize_t i
    cdef uint64_t own[2]
    own[0] = own[1] = 0
    for i in range(n):
        digest_word(words[i], first_row + <uint64_t> i, own)
    sums[0] += own[0]
    sums[1] += own[1]


def digest_numbers(const uint64_t[::1] words, uint64_t first_row, uint64_t[::1] sums) -> int:
    """Add the bits of numbers to the sums, every NaN alike; how many of them are NaN."""
    cdef Py_ssize_t i, n_missing = 0
    cdef uint64_t word
    cdef uint64_t own[2]
    own[0] = own[1] = 0
    with nogil:
        for i in range(words.shape[0]):
            word = words[i]
            if (word & WITHOUT_SIGN) > INFINITE_WORD:
                word = NAN_WORD
                n_missing += 1
            digest_word(word, first_row + <uint64_t> i, own)
        sums[0] += own[0]
        sums[1] += own[1]
    return n_missing


def digest_codes(const int32_t[::1] codes, const uint64_t[::1] known, uint64_t first_row,
                 uint64_t[::1] sums) -> int:
    """Add the words known[code] to the sums, that of NaN for code -1; how many there are."""
    cdef Py_ssize_t start = 0, i, n, n_missing = 0
    cdef uint64_t words[LOOKED_UP]
    with nogil:
        while start < codes.shape[0]:
            n = min(codes.shape[0] - start, <Py_ssize_t> LOOKED_UP)
            for i in range(n):
                n_missing += codes[start + i] < 0
                words[i] = NAN_WORD if codes[start + i] < 0 else known[codes[start + i]]
            digest_texts(words, n, first_row + <uint64_t> start, &sums[0])
            start += n
    return n_missing


cdef enum:
    # Columns that are written side by side at a time: eight doubles are a line of the cache.
    BESIDE = 8


def place_columns(list columns, Py_ssize_t start, Py_ssize_t first, double[:, ::1] X):
    """X[i, first + j] = columns[j][start + i]."""
    cdef Py_ssize_t i, j, at, n_beside, n = X.shape[0]
    cdef const double[::1] values
    cdef const double *beside[BESIDE]
    if n == 0:
        return
    for at in range(0, len(columns), BESIDE):
        n_beside = min(BESIDE, len(columns) - at)
        for j in range(n_beside):
            values = columns[at + j][start:start + n]
            beside[j] = &values[0]
        with nogil:
            for i in range(n):
                for j in range(n_beside):
                    X[i, first + at + j] = beside[j][i]


def sum_powers(const double[:, ::1] X, const double[::1] origin, int power, double[::1] out):
    """out[j] = sum over i of (X[i, j] - origin[j]) ** power, power 1 or 2, row by row."""
    cdef Py_ssize_t i, j
    cdef double moved
    with nogil:
        for j in range(X.shape[1]):
            out[j] = 0
        for i in range(X.shape[0]):
            if power == 1:
                for j in range(X.shape[1]):
                    out[j] += X[i, j] - origin[j]
            else:
                for j in range(X.shape[1]):
                    moved = X[i, j] - origin[j]
                    out[j] += moved * moved


def standardize_rows(const double[:, ::1] raw, const double[::1] means, const double[::1] scales,
                     const int64_t[::1] columns, double[:, ::1] X):
    """X[i, columns[j]] = (raw[i, j] - means[j]) / scales[j]."""
    cdef Py_ssize_t i, j
    with nogil:
        for i in range(raw.shape[0]):
            for j in range(raw.shape[1]):
                X[i, columns[j]] = (raw[i, j] - means[j]) / scales[j]


def mark_codes(const int32_t[::1] codes, Py_ssize_t first, double[:, ::1] X):
    """X[i, first + codes[i]] = 1 where there is a code."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(codes.shape[0]):
            if codes[i] >= 0:
                X[i, first + codes[i]] = 1.0


cdef extern from "native/quotes.h" nogil:
    bint regular_quotes(const unsigned char *text, Py_ssize_t size, unsigned char delimiter,
                        unsigned char newline, Py_ssize_t *end, int *open)


def last_record(const unsigned char[::1] block, unsigned char delimiter, unsigned char newline):
    """Offset just after the last newline outside quotes, and whether a quote is left open.

    The block begins with a record. A quote opens a field only as its first character; in an open
    field two of them stand for one, and a single one closes it.
    """
    cdef Py_ssize_t end = 0
    cdef int is_open = 0
    if block.shape[0] == 0:
        return 0, False
    with nogil:
        if not regular_quotes(&block[0], block.shape[0], delimiter, newline, &end, &is_open):
            end = follow_quotes(block, delimiter, newline, &is_open)
    return end, bool(is_open)


cdef Py_ssize_t follow_quotes(const unsigned char[::1] block, unsigned char delimiter,
                              unsigned char newline, int *is_open) noexcept nogil:
    """The same byte by byte, whatever quotes stand inside fields."""
    cdef Py_ssize_t i, end = 0
    cdef unsigned char c
    cdef bint at_start = True, quoted = False
    for i in range(block.shape[0]):
        c = block[i]
        if quoted:
            # Of two quotes the second opens the field again.
            if c == b'"':
                quoted = False
                at_start = i + 1 < block.shape[0] and block[i + 1] == b'"'
        elif c == newline:
            end, at_start = i + 1, True
        elif c == delimiter or c == b"\n" or c == b"\r":
            at_start = True
        else:
            quoted = at_start and c == b'"'
            at_start = False
    is_open[0] = quoted
    return end
