# Dates as people write them: day, month and year in any order, names of months, times and zones.

cdef enum:
    # Orders of day, month and year; those of a cell are a sum of 1 << order.
    DMY = 0, MDY = 1, YMD = 2, N_ORDERS = 3
    EVERY_ORDER = 15  # with a bit more: the order does not matter

cdef int64_t MICROS_PER_DAY = 86400000000


cdef enum:
    # Places in the counts of `survey_dates`; see `tables/column_types/calendar.py`. The last three:
    # cells that two orders read as different days.
    D_KNOWN, D_ANY, D_FREE, D_DMY, D_MDY, D_YMD, D_DMY_MDY, D_DMY_YMD, D_MDY_YMD, D_COUNTS


def date_counts() -> int:
    """How many counts `survey_dates` makes."""
    return D_COUNTS


cdef struct Moment:
    # days: since 1970-01-01 in each order that reads it. micros: of the day, in UTC.
    int orders
    int64_t days[N_ORDERS]
    int64_t micros


cdef struct Part:
    # A number and its digits, or a month by its name, which has none.
    int value, n_digits


cdef inline int64_t days_of(int64_t y, int m, int d) noexcept nogil:
    """Days since 1970-01-01 of the Gregorian calendar."""
    cdef int64_t era, year_of_era, day_of_year
    y -= m <= 2
    era = (y if y >= 0 else y - 399) // 400
    year_of_era = y - era * 400
    day_of_year = (153 * (m + (-3 if m > 2 else 9)) + 2) // 5 + d - 1
    return (era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100
            + day_of_year - 719468)


cdef inline bint is_day(int y, int m, int d) noexcept nogil:
    if m < 1 or m > 12 or d < 1 or d > 31:
        return False
    if m == 2:
        return d <= 28 + (y % 4 == 0 and (y % 100 != 0 or y % 400 == 0))
    return d <= 30 + ((m + (m > 7)) % 2)


cdef inline void try_order(Moment *moment, int order, Part y, int m, int d) noexcept nogil:
    """Add a reading, if the calendar has it. Years of two digits are those from 1969 to 2068."""
    cdef int year = y.value
    if y.n_digits == 2:
        year += 2000 if year < 69 else 1900
    if is_day(year, m, d):
        moment.days[order] = days_of(year, m, d)
        moment.orders |= 1 << order


cdef inline bint is_letter(unsigned char c) noexcept nogil:
    return (97 <= (c | 32) and (c | 32) <= 122) or c >= 0xC3


cdef inline Py_ssize_t read_part(const unsigned char *s, Py_ssize_t i, Py_ssize_t n,
                                 const Tokens *months, Part *part) noexcept nogil:
    """A number of at most four digits, or the name of a month, and where it ends; i if neither."""
    cdef Py_ssize_t start = i, k
    cdef int size, code
    cdef unsigned char lower[32]
    part.value, part.n_digits = 0, 0
    while i < n and i - start < 4 and b"0" <= s[i] <= b"9":
        part.value = part.value * 10 + s[i] - 48
        i += 1
    if i > start:
        part.n_digits = <int> (i - start)
        return i
    while i < n and i - start < 32 and is_letter(s[i]):
        # Two bytes of a letter beyond ASCII: capitals are 32 below.
        lower[i - start] = s[i] | 32 if s[i] < 0x80 else s[i]
        if s[i] == 0xC3 and i + 1 < n and i + 1 - start < 32:
            lower[i + 1 - start] = s[i + 1] | 32
            i += 1
        i += 1
    size = token_at(months, lower, 0, i - start, &code) if i > start else 0
    if size == 0 or size != i - start:
        return start
    part.value = code
    return i


cdef inline Py_ssize_t read_two(const unsigned char *s, Py_ssize_t i, Py_ssize_t n, int most,
                                int *value) noexcept nogil:
    """A number of two digits up to `most`, and where it ends; -1 where there is none."""
    if i + 1 >= n or not (b"0" <= s[i] <= b"9" and b"0" <= s[i + 1] <= b"9"):
        return -1
    value[0] = (s[i] - 48) * 10 + s[i + 1] - 48
    return i + 2 if value[0] <= most else -1


cdef Py_ssize_t read_clock(const unsigned char *s, Py_ssize_t i, Py_ssize_t n,
                           int64_t *micros) noexcept nogil:
    """A time of day, and where it ends; -1 where there is none."""
    cdef int hour = 0, minute = 0, second = 0, n_digits = 0
    cdef int64_t fraction = 0
    cdef Py_ssize_t start = i, at
    while i < n and i - start < 2 and b"0" <= s[i] <= b"9":
        hour = hour * 10 + s[i] - 48
        i += 1
    if i == start or hour > 23 or i >= n or s[i] != b":":
        return -1
    i = read_two(s, i + 1, n, 59, &minute)
    if i >= 0 and i < n and s[i] == b":":
        i = read_two(s, i + 1, n, 59, &second)
        if i >= 0 and i + 1 < n and (s[i] == b"." or s[i] == b",") and b"0" <= s[i + 1] <= b"9":
            i += 1
            while i < n and n_digits < 9 and b"0" <= s[i] <= b"9":
                if n_digits < 6:
                    fraction = fraction * 10 + s[i] - 48
                n_digits += 1
                i += 1
            while n_digits < 6:
                fraction *= 10
                n_digits += 1
    if i < 0:
        return -1
    at = skip_blanks(s, i, n)
    if at + 1 < n and (s[at + 1] | 32) == b"m" and ((s[at] | 32) == b"a" or (s[at] | 32) == b"p"):
        if hour == 0 or hour > 12:
            return -1
        hour = hour % 12 + 12 * ((s[at] | 32) == b"p")
        i = at + 2
    micros[0] = ((hour * 60 + minute) * 60 + second) * <int64_t> 1000000 + fraction
    return i


cdef Py_ssize_t read_zone(const unsigned char *s, Py_ssize_t i, Py_ssize_t n,
                          int64_t *micros) noexcept nogil:
    """Take the offset of a zone from the time, and where it ends; -1 for what is no zone."""
    cdef int hours = 0, minutes = 0
    cdef bint west
    i = skip_blanks(s, i, n)
    if i >= n:
        return i
    if s[i] == b"Z" or s[i] == b"z":
        return i + 1
    if i + 2 < n and (memcmp(s + i, b"UTC", 3) == 0 or memcmp(s + i, b"GMT", 3) == 0):
        i += 3
        if i >= n:
            return i
    if s[i] != b"+" and s[i] != b"-":
        return -1
    west = s[i] == b"-"
    i = read_two(s, i + 1, n, 23, &hours)
    if i >= 0 and i < n and s[i] == b":":
        i = read_two(s, i + 1, n, 59, &minutes)
    elif i >= 0 and i + 1 < n:
        i = read_two(s, i, n, 59, &minutes)
    if i >= 0:
        micros[0] += (1 if west else -1) * (hours * 60 + minutes) * <int64_t> 60000000
    return i


cdef inline Py_ssize_t skip_separator(const unsigned char *s, Py_ssize_t i, Py_ssize_t n,
                                      unsigned char *mark) noexcept nogil:
    """One of . / - , and spaces after it, or spaces alone; mark: the first of them, 0 for none."""
    mark[0] = 0
    if i < n and (s[i] == b"." or s[i] == b"/" or s[i] == b"-" or s[i] == b","):
        mark[0] = s[i]
        i += 1
    if i < n and blank_at(s, i, n):
        mark[0] = mark[0] if mark[0] else b" "
        i = skip_blanks(s, i, n)
    return i


cdef int read_moment(const unsigned char *s, Py_ssize_t n, const Tokens *months,
                     Moment *moment) noexcept nogil:
    """CELL_NUMBER where the text is a date, with or without a time, else what it is."""
    cdef Py_ssize_t i = skip_blanks(s, 0, n), at
    cdef Part a, b, c
    cdef unsigned char one, two, three
    cdef bint named
    cdef int order
    moment.orders, moment.micros = 0, 0
    if i == n:
        return CELL_MISSING
    at = read_part(s, i, n, months, &a)
    if at == i:
        return CELL_MISSING if n - i >= 3 and is_nan(s, i, i + 3) and \
            skip_blanks(s, i + 3, n) == n else CELL_INVALID
    i = skip_separator(s, at, n, &one)
    at = read_part(s, i, n, months, &b)
    if one == 0 or at == i:
        return CELL_INVALID
    i = skip_separator(s, at, n, &two)
    at = read_part(s, i, n, months, &c)
    if two == 0 or at == i:
        return CELL_INVALID
    i = at
    named = a.n_digits == 0 or b.n_digits == 0
    if named:
        if c.n_digits == 0 or (a.n_digits == 0 and b.n_digits == 0):
            return CELL_INVALID
        if a.n_digits == 4 and c.n_digits <= 2:
            try_order(moment, DMY, a, b.value, c.value)
        elif c.n_digits == 4 or c.n_digits == 2:
            if a.n_digits == 0 and b.n_digits <= 2:
                try_order(moment, DMY, c, a.value, b.value)
            elif b.n_digits == 0 and a.n_digits <= 2:
                try_order(moment, DMY, c, b.value, a.value)
    elif one != two or one == b" " or one == b"," or c.n_digits == 0:
        return CELL_INVALID
    elif a.n_digits == 4 and b.n_digits <= 2 and c.n_digits <= 2:
        try_order(moment, DMY, a, b.value, c.value)
        named = True
    elif a.n_digits <= 2 and b.n_digits <= 2 and (c.n_digits == 4 or c.n_digits == 2):
        try_order(moment, DMY, c, b.value, a.value)
        try_order(moment, MDY, c, a.value, b.value)
        if c.n_digits == 2 and a.n_digits == 2:
            try_order(moment, YMD, a, b.value, c.value)
    if moment.orders == 0:
        return CELL_INVALID
    if named:
        # The order does not matter.
        moment.orders = EVERY_ORDER
        for order in range(1, N_ORDERS):
            moment.days[order] = moment.days[0]
    if i < n and (s[i] == b"T" or s[i] == b"t"):
        i += 1
    else:
        at = i
        i = skip_separator(s, i, n, &three)
        if i == n:
            return CELL_NUMBER if three == 0 or three == b" " else CELL_INVALID
        if three != b" " and three != b",":
            return CELL_INVALID
    i = read_clock(s, i, n, &moment.micros)
    if i >= 0:
        i = read_zone(s, i, n, &moment.micros)
    if i < 0 or skip_blanks(s, i, n) != n:
        return CELL_INVALID
    return CELL_NUMBER


cdef inline bint differ(const Moment *moment, int one, int other) noexcept nogil:
    return ((moment.orders >> one) & 1 and (moment.orders >> other) & 1
            and moment.days[one] != moment.days[other])


def survey_dates(const unsigned char[::1] data, const int64_t[::1] offsets, tuple months,
                 int64_t[::1] counts):
    """Add to the counts what the cells data[offsets[i]:offsets[i + 1]] are as dates."""
    cdef const unsigned char[::1] text = months[0]
    cdef const int32_t[::1] starts = months[1], by_byte = months[2], codes = months[3]
    cdef Tokens known = make_tokens(text, starts, by_byte, codes)
    cdef Py_ssize_t i
    cdef Moment moment
    cdef int found, order
    with nogil:
        for i in range(offsets.shape[0] - 1):
            found = read_moment(&data[0] + offsets[i], offsets[i + 1] - offsets[i], &known, &moment)
            counts[D_KNOWN] += found != CELL_MISSING
            if found != CELL_NUMBER:
                continue
            counts[D_ANY] += 1
            counts[D_FREE] += moment.orders == EVERY_ORDER
            for order in range(N_ORDERS):
                counts[D_DMY + order] += (moment.orders >> order) & 1
            counts[D_DMY_MDY] += differ(&moment, DMY, MDY)
            counts[D_DMY_YMD] += differ(&moment, DMY, YMD)
            counts[D_MDY_YMD] += differ(&moment, MDY, YMD)


def read_dates(const unsigned char[::1] data, const int64_t[::1] offsets, tuple months, int order,
               int64_t[::1] micros, unsigned char[::1] found):
    """Microseconds since 1970-01-01 in UTC; times without a zone are taken as UTC.

    order: DMY, MDY or YMD; -1 where it is open, which is CELL_OPEN where it matters.
    """
    cdef const unsigned char[::1] text = months[0]
    cdef const int32_t[::1] starts = months[1], by_byte = months[2], codes = months[3]
    cdef Tokens known = make_tokens(text, starts, by_byte, codes)
    cdef Py_ssize_t i
    cdef Moment moment
    cdef int what, known_order = max(order, 0)
    with nogil:
        for i in range(offsets.shape[0] - 1):
            what = read_moment(&data[0] + offsets[i], offsets[i + 1] - offsets[i], &known, &moment)
            micros[i] = 0
            if what == CELL_NUMBER:
                if order >= 0 and not (moment.orders >> order) & 1:
                    what = CELL_INVALID
                elif order < 0 and moment.orders != EVERY_ORDER:
                    what = CELL_OPEN
                else:
                    micros[i] = moment.days[known_order] * MICROS_PER_DAY + moment.micros
            found[i] = what
