# Isotonic fractions: counts at ascending scores enter, blocks of their non-decreasing fit leave.

ctypedef fused counted:
    int64_t
    double


def pool_fractions(counted[::1] hits, counted[::1] rows, int32_t[::1] starts) -> int:
    """Blocks of the non-decreasing fit to hits / rows, weighted by rows; gives their number.

    hits, rows: counts at each ascending score, rows > 0 and below 2^31 in all, or their weights. On
    return their first entries are the counts of the blocks, and starts (n,) has the first score of
    each. Comparisons of counts are exact, and neighbouring blocks differ.
    """
    cdef Py_ssize_t n = hits.shape[0], i, n_blocks = 0
    cdef counted some, total
    require_length(rows.shape[0], n, "rows")
    require_length(starts.shape[0], n, "starts")
    with nogil:
        for i in range(n):
            some = hits[i]
            total = rows[i]
            starts[n_blocks] = <int32_t>i
            # Blocks left of n_blocks have rising fractions; the new one takes in what is not below.
            while n_blocks > 0 and hits[n_blocks - 1] * total >= some * rows[n_blocks - 1]:
                n_blocks -= 1
                some += hits[n_blocks]
                total += rows[n_blocks]
            hits[n_blocks] = some
            rows[n_blocks] = total
            n_blocks += 1
    return n_blocks
