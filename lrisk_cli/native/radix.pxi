# Stable argsort by radix: keys enter, the rows by ascending key leave.
#
# A word packs the leading bits of a key's monotone image, counted from the least key, above the
# row number. Words are distinct and compare as (key prefix, row), so sorting them is stable.

cdef enum:
    SHORT_RUN = 48        # insertion sort is quickest below
    MAX_DIGIT = 12        # bits of a radix digit: its counters stay in the first-level cache
    AHEAD = 16            # words between asking for a cache line and writing to it
    BLOCK = 1024          # keys turned into words at a time


cdef struct Packing:
    uint64_t base         # image of the least key
    int range_bits        # bits of (image of the largest key) - base
    int drop              # low bits of the image that find no room beside the row number
    int lift              # where the prefix starts in the word
    int row_bits


cdef inline int bit_length(uint64_t x) noexcept nogil:
    """The least k with x < 2^k."""
    cdef int bits = 0
    while x != 0:
        x >>= 1
        bits += 1
    return bits


cdef inline uint64_t monotone_image(double key) noexcept nogil:
    """An unsigned integer that grows with the key; -0.0 and 0.0 have the same."""
    cdef uint64_t bits
    key = key + 0.0
    memcpy(&bits, &key, sizeof(bits))
    # All bits of a negative number are flipped, the sign alone of another.
    return bits ^ ((0 - (bits >> 63)) | (<uint64_t>1 << 63))


cdef void find_range(
    const double *x, Py_ssize_t n, double *least, double *largest
) noexcept nogil:
    """The least and the largest of x, of one element at least."""
    cdef double lo0 = x[0], lo1 = x[0], hi0 = x[0], hi1 = x[0], last = x[n - 1]
    cdef Py_ssize_t i
    # lo0, hi0 bound the elements seen at even places, lo1, hi1 those at odd places.
    for i in range(0, n - 1, 2):
        lo0 = x[i] if x[i] < lo0 else lo0
        hi0 = x[i] if x[i] > hi0 else hi0
        lo1 = x[i + 1] if x[i + 1] < lo1 else lo1
        hi1 = x[i + 1] if x[i + 1] > hi1 else hi1
    least[0] = min(lo0, lo1, last)
    largest[0] = max(hi0, hi1, last)


cdef Packing choose_packing(const double *keys, Py_ssize_t n) noexcept nogil:
    """The packing that drops the fewest bits: none when the keys span few enough."""
    cdef double least, largest
    cdef Packing how
    find_range(keys, n, &least, &largest)
    how.base = monotone_image(least)
    how.range_bits = bit_length(monotone_image(largest) - how.base)
    how.row_bits = bit_length(<uint64_t>(n - 1))
    how.drop = max(0, how.range_bits + how.row_bits - 64)
    how.lift = 64 - how.range_bits + how.drop
    return how


cdef void pack_rows(
    const double *keys, Py_ssize_t first, Py_ssize_t n, const Packing *how, uint64_t *words
) noexcept nogil:
    """The words of rows first .. first + n - 1."""
    cdef uint64_t base = how.base, offset
    cdef int drop = how.drop, lift = how.lift
    cdef Py_ssize_t i
    for i in range(n):
        offset = monotone_image(keys[first + i]) - base
        words[i] = (offset >> drop << lift) | <uint64_t>(first + i)


cdef void count_digits(
    const uint64_t *words, Py_ssize_t n, int shift, uint64_t mask, uint32_t *counts
) noexcept nogil:
    """How often each digit occurs among the bits of the words at shift."""
    cdef Py_ssize_t i
    memset(counts, 0, (mask + 1) * sizeof(uint32_t))
    for i in range(n):
        counts[(words[i] >> shift) & mask] += 1


cdef void turn_into_places(uint32_t *counts, uint64_t mask) noexcept nogil:
    """Replace the count of each digit by the place of its first word."""
    cdef uint32_t place = 0, count
    cdef uint64_t digit
    for digit in range(mask + 1):
        count = counts[digit]
        counts[digit] = place
        place += count


cdef inline void put(
    uint64_t word, int shift, uint64_t mask, uint32_t *places, uint64_t *target
) noexcept nogil:
    """Append word to those that share its digit; places[digit] is where the next one goes."""
    cdef uint64_t digit = (word >> shift) & mask
    target[places[digit]] = word
    places[digit] += 1


cdef void distribute_words(
    const uint64_t *words, uint64_t *target, Py_ssize_t n, int shift, uint64_t mask,
    uint32_t *places
) noexcept nogil:
    """Order words by the digit at shift; stable. places: from turn_into_places."""
    cdef Py_ssize_t i, stop = max(n - <Py_ssize_t>AHEAD, 0)
    for i in range(stop):
        lrisk_prefetch(target + places[(words[i + AHEAD] >> shift) & mask])
        put(words[i], shift, mask, places, target)
    for i in range(stop, n):
        put(words[i], shift, mask, places, target)


cdef void count_two_digits(
    const double *keys, Py_ssize_t n, const Packing *how, int shift, int width,
    uint32_t *low, uint32_t *high
) noexcept nogil:
    """How often each digit of `width` bits occurs at shift, and above it, once keys are packed."""
    cdef uint64_t words[BLOCK]
    cdef uint64_t mask = (<uint64_t>1 << width) - 1
    cdef Py_ssize_t i, m, first = 0
    memset(low, 0, (mask + 1) * sizeof(uint32_t))
    memset(high, 0, (mask + 1) * sizeof(uint32_t))
    while first < n:
        m = min(n - first, <Py_ssize_t>BLOCK)
        pack_rows(keys, first, m, how, words)
        for i in range(m):
            low[(words[i] >> shift) & mask] += 1
            high[(words[i] >> shift >> width) & mask] += 1
        first += m


cdef void distribute_keys(
    const double *keys, uint64_t *target, Py_ssize_t n, const Packing *how, int shift,
    uint64_t mask, uint32_t *places
) noexcept nogil:
    """Pack every row into target, ordered by the digit at shift; stable."""
    cdef uint64_t words[BLOCK]
    cdef Py_ssize_t m, first = 0
    while first < n:
        m = min(n - first, <Py_ssize_t>BLOCK)
        pack_rows(keys, first, m, how, words)
        distribute_words(words, target, m, shift, mask, places)
        first += m


cdef uint64_t *radix_words(
    uint64_t *words, uint64_t *spare, Py_ssize_t n, int first_bit, int end_bit
) noexcept nogil:
    """Sort words by bits first_bit .. end_bit - 1, stable; gives the buffer that holds them."""
    cdef int width = min(<int>MAX_DIGIT - 1, max(4, bit_length(<uint64_t>n) - 1))
    cdef uint64_t mask
    cdef uint32_t counts[1 << MAX_DIGIT]
    # words is sorted by the bits below first_bit that were asked for.
    while first_bit < end_bit:
        mask = (<uint64_t>1 << min(width, end_bit - first_bit)) - 1
        count_digits(words, n, first_bit, mask, counts)
        if counts[(words[0] >> first_bit) & mask] < <uint32_t>n:
            turn_into_places(counts, mask)
            distribute_words(words, spare, n, first_bit, mask, counts)
            words, spare = spare, words
        first_bit += width
    return words


cdef bint insert_words(uint64_t *words, Py_ssize_t n, Py_ssize_t budget) noexcept nogil:
    """Insertion sort; False as soon as it would cost more than budget moves."""
    cdef Py_ssize_t i, j
    cdef uint64_t word
    # words[:i] is sorted.
    for i in range(1, n):
        word = words[i]
        if words[i - 1] < word:
            continue
        j = i
        while j > 0 and words[j - 1] > word and i - j <= budget:
            words[j] = words[j - 1]
            j -= 1
        words[j] = word
        budget -= i - j
        if budget < 0:
            return False
    return True


cdef uint64_t *sort_packed(
    const double *keys, Py_ssize_t n, const Packing *how, uint64_t *words, uint64_t *spare
) noexcept nogil:
    """All rows as sorted words, in one of the two buffers.

    Digits from the top of the word split the rows finely enough for insertion to finish, as long
    as the keys spread; where they crowd, every bit of the prefix is sorted instead.
    """
    # Keys mostly fill a few binades; each doubling of the binades they span costs a bit.
    cdef int bits = bit_length(<uint64_t>n) + max(4, how.range_bits - 53)
    cdef int passes = 2 if bits <= 2 * <int>MAX_DIGIT + 2 else 3
    cdef int width = min(<int>MAX_DIGIT, (min(bits, how.range_bits) + passes - 1) // passes)
    cdef int shift = max(how.lift, 64 - passes * width)
    cdef uint64_t mask = (<uint64_t>1 << width) - 1
    cdef uint32_t counts[1 << MAX_DIGIT]
    cdef uint32_t next_counts[1 << MAX_DIGIT]
    count_two_digits(keys, n, how, shift, width, counts, next_counts)
    turn_into_places(counts, mask)
    distribute_keys(keys, words, n, how, shift, mask, counts)
    shift += width
    # words is sorted by the digits below shift; next_counts belongs to the digit at shift.
    while shift < 64:
        turn_into_places(next_counts, mask)
        distribute_words(words, spare, n, shift, mask, next_counts)
        words, spare = spare, words
        shift += width
        if shift < 64:
            count_digits(words, n, shift, mask, next_counts)
    if insert_words(words, n, 2 * n):
        return words
    # Words of one prefix never passed each other, so their rows still ascend.
    return radix_words(words, spare, n, how.lift, 64)


cdef void insert_rows(const double *keys, int32_t *order, Py_ssize_t n) noexcept nogil:
    """Stable insertion sort of the rows in order by their keys."""
    cdef Py_ssize_t i, j
    cdef int32_t row
    cdef double key
    # order[:i] is sorted.
    for i in range(1, n):
        row = order[i]
        key = keys[row]
        j = i
        while j > 0 and keys[order[j - 1]] > key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = row


cdef void settle_run(
    const double *keys, int32_t *order, Py_ssize_t n, const Packing *how,
    uint64_t *words, uint64_t *spare
) noexcept nogil:
    """Sort rows that share their prefix, and come in ascending row order, by the dropped bits."""
    cdef uint64_t low = (<uint64_t>1 << how.drop) - 1
    cdef uint64_t rows = (<uint64_t>1 << how.row_bits) - 1
    cdef Py_ssize_t i = 1
    while i < n and keys[order[i - 1]] <= keys[order[i]]:
        i += 1
    if i >= n:
        return
    if n <= SHORT_RUN:
        insert_rows(keys, order, n)
        return
    for i in range(n):
        words[i] = (((monotone_image(keys[order[i]]) - how.base) & low) << how.row_bits) | order[i]
    words = radix_words(words, spare, n, how.row_bits, how.row_bits + how.drop)
    for i in range(n):
        order[i] = <int32_t>(words[i] & rows)


cdef void unpack_rows(
    const double *keys, int32_t *order, Py_ssize_t n, const Packing *how,
    uint64_t *words, uint64_t *spare
) noexcept nogil:
    """Rows of the sorted words; runs of one prefix are settled by the whole key."""
    cdef uint64_t rows = (<uint64_t>1 << how.row_bits) - 1
    cdef Py_ssize_t i, first = 0
    for i in range(n):
        order[i] = <int32_t>(words[i] & rows)
    if how.drop == 0:
        return
    # Runs that end before first are settled.
    for i in range(1, n + 1):
        if i < n and (words[i] ^ words[i - 1]) <= rows:
            continue
        if i - first > 1:
            settle_run(keys, order + first, i - first, how, words + first, spare + first)
        first = i


cdef void argsort_core(
    const double *keys, int32_t *order, Py_ssize_t n, uint64_t *words, uint64_t *spare
) noexcept nogil:
    """argsort; words and spare: (n,) scratch. A NaN among the keys leaves some permutation."""
    cdef Packing how
    cdef uint64_t *found
    cdef Py_ssize_t i
    if n > SHORT_RUN:
        how = choose_packing(keys, n)
        if how.range_bits > 0:
            found = sort_packed(keys, n, &how, words, spare)
            unpack_rows(keys, order, n, &how, found, spare if found == words else words)
            return
    for i in range(n):
        order[i] = <int32_t>i
    if n <= SHORT_RUN:
        insert_rows(keys, order, n)
