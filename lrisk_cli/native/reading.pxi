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


def sum_powers(const double[:, ::1] X, const double[::1] origin, int power, double[::1] out,
               const double[::1] masses=None):
    """out[j] = sum over i of m_i (X[i, j] - origin[j]) ** power, power 1 or 2, row by row.

    masses: m of the rows, (n,); each 1 where there are none.
    """
    cdef Py_ssize_t i, j
    cdef double moved, mass
    cdef bint weighed = masses is not None
    if weighed:
        require_length(masses.shape[0], X.shape[0], "masses")
    with nogil:
        for j in range(X.shape[1]):
            out[j] = 0
        for i in range(X.shape[0]):
            if weighed:
                mass = masses[i]
                for j in range(X.shape[1]):
                    moved = X[i, j] - origin[j]
                    out[j] += mass * (moved if power == 1 else moved * moved)
            elif power == 1:
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


cdef extern from "native/quotes.h" nogil:
    bint regular_quotes(const unsigned char *text, Py_ssize_t size, unsigned char delimiter,
                        Py_ssize_t *end, int *open)
    Py_ssize_t line_ends(const unsigned char *text, Py_ssize_t size)


def count_lines(const unsigned char[::1] block) -> int:
    """How many lines end in the block, by LF, CR or CRLF, quoted ones included."""
    cdef Py_ssize_t n
    if block.shape[0] == 0:
        return 0
    with nogil:
        n = line_ends(&block[0], block.shape[0])
    return n


def last_record(const unsigned char[::1] block, unsigned char delimiter):
    """Offset just after the last LF or CR outside quotes, and whether a quote is left open.

    The block begins with a record. A quote opens a field only as its first character; in an open
    field two of them stand for one, and a single one closes it. A CR that is the last byte is no
    end: an LF that belongs to it may follow.
    """
    cdef Py_ssize_t end = 0
    cdef int is_open = 0
    if block.shape[0] == 0:
        return 0, False
    with nogil:
        if not regular_quotes(&block[0], block.shape[0], delimiter, &end, &is_open):
            end = follow_quotes(block, delimiter, &is_open)
    return end, bool(is_open)


cdef Py_ssize_t follow_quotes(const unsigned char[::1] block, unsigned char delimiter,
                              int *is_open) noexcept nogil:
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
        elif c == b"\n" or (c == b"\r" and i + 1 < block.shape[0]):
            end, at_start = i + 1, True
        elif c == delimiter:
            at_start = True
        else:
            quoted = at_start and c == b'"'
            at_start = False
    is_open[0] = quoted
    return end


cdef struct Record:
    # Fields are separated outside quotes. stop: offset of the end of its line; next: of the next
    # record; surplus: of the delimiter after the last field that the header has, or stop.
    Py_ssize_t stop, next, n_fields, n_lines, surplus
    bint beyond  # whether text stands after `surplus`


cdef Record find_record(const unsigned char[::1] block, Py_ssize_t start, unsigned char delimiter,
                        Py_ssize_t width) noexcept nogil:
    """The record that begins at `start`, beside a header of `width` fields."""
    cdef Record record
    cdef Py_ssize_t i = start, n = block.shape[0]
    cdef unsigned char c
    cdef bint at_start = True, quoted = False, ends
    record.n_fields, record.n_lines, record.surplus, record.beyond = 1, 0, -1, False
    while i < n:
        c = block[i]
        ends = c == b"\n" or (c == b"\r" and not (i + 1 < n and block[i + 1] == b"\n"))
        record.n_lines += ends
        if quoted:
            if c == b'"':
                quoted = False
                at_start = i + 1 < n and block[i + 1] == b'"'
                record.beyond |= at_start and record.surplus >= 0
            else:
                record.beyond |= c != b" " and record.surplus >= 0
        elif c == b"\n" or c == b"\r":
            break
        elif c == delimiter:
            if record.n_fields == width:
                record.surplus = i
            record.n_fields += 1
            at_start = True
        else:
            quoted = at_start and c == b'"'
            at_start = False
            record.beyond |= not quoted and c != b" " and record.surplus >= 0
        i += 1
    record.stop = i
    record.next = min(i + 1, n)
    if i + 1 < n and block[i] == b"\r" and block[i + 1] == b"\n":
        record.next = i + 2
        record.n_lines += 1
    if record.surplus < 0:
        record.surplus = i
    return record


cdef Py_ssize_t write_record(const unsigned char *text, Py_ssize_t size, Py_ssize_t n_added,
                             unsigned char delimiter, unsigned char *out) noexcept nogil:
    """Copy a record, append delimiters and end the line; how many bytes that takes."""
    memcpy(out, text, size)
    memset(out + size, delimiter, n_added)
    size += n_added
    if size == 0:
        # An empty line would be none.
        out[0] = out[1] = b'"'
        size = 2
    out[size] = b"\n"
    return size + 1


def even_records(const unsigned char[::1] block, Py_ssize_t start, unsigned char delimiter,
                 Py_ssize_t width, bint pad, unsigned char[::1] out, int64_t[:, ::1] uneven):
    """Copy records from `start` on to `out`, each with `width` fields, while they fit in there.

    With `pad` a shorter record gets empty fields and a longer one loses empty fields at its end;
    what still has another number of fields is left out. uneven: (m, 3), takes for the first m of
    the uneven records the line, counted from `start`, the number of fields, and whether it was left
    out. Returns the offset of the first record not looked at, the number of bytes written, the
    numbers of records mended and left out, and that of lines.
    """
    cdef Py_ssize_t at = start, size = 0, lines = 0, n_mended = 0, n_left_out = 0, needed, k
    cdef Record record
    cdef bint skipped
    with nogil:
        while at < block.shape[0]:
            record = find_record(block, at, delimiter, width)
            needed = record.surplus - at + max(width - record.n_fields, <Py_ssize_t> 0) + 3
            if size + needed > out.shape[0]:
                break
            if record.stop > at and record.n_fields != width:
                skipped = not pad or record.beyond
                k = n_mended + n_left_out
                if k < uneven.shape[0]:
                    uneven[k, 0], uneven[k, 1], uneven[k, 2] = lines, record.n_fields, skipped
                n_mended += not skipped
                n_left_out += skipped
            else:
                skipped = record.stop == at
            if not skipped:
                size += write_record(&block[at], record.surplus - at,
                                     max(width - record.n_fields, <Py_ssize_t> 0), delimiter,
                                     &out[size])
            lines += record.n_lines
            at = record.next
    return at, size, n_mended, n_left_out, lines


def blank_comments(const unsigned char[::1] block, unsigned char delimiter, unsigned char mark,
                   unsigned char[::1] out) -> int:
    """Copy records, of those that begin with the mark only a line end; the number of bytes."""
    cdef Py_ssize_t at = 0, size = 0, i
    cdef Record record
    with nogil:
        while at < block.shape[0]:
            if block[at] == mark:
                # What a comment quotes does not matter.
                i = at
                while i < block.shape[0] and block[i] != b"\n" and block[i] != b"\r":
                    i += 1
                out[size] = b"\n"
                size += 1
                i += i + 1 < block.shape[0] and block[i] == b"\r" and block[i + 1] == b"\n"
                at = i + 1
                continue
            record = find_record(block, at, delimiter, 1 << 30)
            memcpy(&out[size], &block[at], record.next - at)
            size += record.next - at
            at = record.next
    return size
