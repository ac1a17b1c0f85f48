# Weights of rows without PAV: by rank, or by projection on the capped simplex.
#
# The permutahedron P(sigma) of a superquantile is {0 <= lam <= cap, sum lam = 1}. Letters: z values
# in any order, lam their projection, tau its threshold.

cdef enum:
    SAMPLE = 15           # values among which a pivot is chosen

cdef double NEGLIGIBLE = 1e-15         # a few roundings of 1


cdef double clipped_sum(
    const double *z, Py_ssize_t n, double tau, double cap, Py_ssize_t *n_inside
) noexcept nogil:
    """sum clip(z - tau, 0, cap); n_inside counts the terms strictly between."""
    cdef double terms[SHORT_CHUNK]
    cdef double total = 0.0, lost = 0.0
    cdef Py_ssize_t i, m, first = 0, inside = 0
    # total + lost and inside cover the values before first. One simple loop for each step lets
    # the compiler use vector instructions.
    while first < n:
        m = min(n - first, <Py_ssize_t>SHORT_CHUNK)
        for i in range(m):
            terms[i] = clip(z[first + i] - tau, 0.0, cap)
        for i in range(m):
            inside += (terms[i] > 0.0) & (terms[i] < cap)
        add_compensated(&total, &lost, chunked_sum(terms, m))
        first += m
    n_inside[0] = inside
    return total + lost


cdef double pivot_between(
    const double *z, Py_ssize_t n, double cap, double lo, double hi, double share
) noexcept nogil:
    """A guess at the threshold, strictly between lo and hi unless these are neighbours.

    Of a sample of z, the value that a fraction `share` exceeds; else a kink near it; else midway.
    """
    cdef double sample[SAMPLE]
    cdef double v
    cdef Py_ssize_t i, j
    # sample[:i] is sorted.
    for i in range(SAMPLE):
        v = z[(2 * i + 1) * n // (2 * SAMPLE)]
        j = i
        while j > 0 and sample[j - 1] > v:
            sample[j] = sample[j - 1]
            j -= 1
        sample[j] = v
    v = sample[<Py_ssize_t>clip((1.0 - share) * SAMPLE, 1.0, SAMPLE - 2)]
    if lo < v < hi:
        return v
    if lo < v - cap < hi:
        return v - cap
    return lo + 0.5 * (hi - lo)


cdef Py_ssize_t keep_undecided(
    const double *z, Py_ssize_t n, double cap, double lo, double hi, double *kept,
    Py_ssize_t *n_full
) noexcept nogil:
    """Keep the values whose term varies for tau in (lo, hi); add those at cap to n_full."""
    cdef Py_ssize_t i, full = 0, m = 0
    cdef double v
    for i in range(n):
        v = z[i]
        full += v - hi >= cap
        kept[m] = v
        m += (v > lo) & (v - hi < cap)
    n_full[0] += full
    return m


cdef double find_threshold(
    const double *z, Py_ssize_t n, double cap, double tau, double *kept
) noexcept nogil:
    """tau with sum clip(z - tau, 0, cap) = 1, up to a rounding of tau, sought from the one given.

    kept: (n,) scratch.
    """
    cdef double lo, hi, excess = INFINITY, last_excess, missing = 1.0, step
    cdef Py_ssize_t n_inside, n_full = 0, n_before
    cdef bint newton = False
    find_range(z, n, &lo, &hi)
    lo = lo - cap
    # The sum is at least 1 at lo and at most 1 at hi. Values that left z give 0, or, n_full of
    # them, cap, wherever tau lies between; the others make up what is missing of 1.
    while n > 0:
        if not lo < tau < hi:
            tau = pivot_between(z, n, cap, lo, hi, missing / (cap * <double>n))
            newton = False
            if not lo < tau < hi:
                break
        last_excess = excess
        excess = clipped_sum(z, n, tau, cap, &n_inside) - missing
        step = excess / <double>max(n_inside, 1)
        if fabs(excess) <= NEGLIGIBLE or (n_inside > 0 and tau + step == tau):
            break
        if excess > 0.0:
            lo = tau
        else:
            hi = tau
        n_before = n
        n = keep_undecided(z, n, cap, lo, hi, kept, &n_full)
        z = kept
        missing = 1.0 - cap * <double>n_full
        # After a Newton step that neither shed values nor came much nearer, a pivot is next.
        newton = n_inside > 0 and (
            not newton or 2 * n <= n_before or 4.0 * fabs(excess) <= fabs(last_excess)
        )
        if newton:
            tau += step
    return tau


cdef double capped_simplex_core(
    const double *z, Py_ssize_t n, double cap, double *lam, double *work
) noexcept nogil:
    """capped_simplex for 1/n < cap <= 1."""
    cdef double tau = find_threshold(z, n, cap, z[n // 2], work), rest
    cdef Py_ssize_t i
    # z - tau is exact where it matters, so the rest is found below a rounding of tau.
    for i in range(n):
        lam[i] = z[i] - tau
    rest = find_threshold(lam, n, cap, 0.0, work)
    for i in range(n):
        lam[i] = clip(lam[i] - rest, 0.0, cap)
    return tau + rest


def capped_simplex(
    const double[::1] z, double cap, double[::1] lam, double[::1] work
):
    """Projection of z on {0 <= lam <= cap, sum lam = 1}: lam = clip(z - tau, 0, cap); gives tau.

    cap = 1 / (n (1 - q)) makes this P(sigma) of superquantile q, without a sort. A cap of at most
    1/n leaves only lam = 1/n. z: (n,) in any order, finite; lam: (n,); work: (n,) scratch.
    """
    cdef Py_ssize_t i, n = z.shape[0]
    cdef double tau
    require_length(lam.shape[0], n, "lam")
    require_length(work.shape[0], n, "work")
    if n == 0 or not cap > 0.0:
        raise ValueError("the capped simplex needs one row at least and a cap above 0")
    cap = min(cap, 1.0)
    if n * cap <= 1.0 + NEGLIGIBLE:
        tau = z[0]
        for i in range(n):
            tau = min(tau, z[i])
            lam[i] = 1.0 / n
        return tau - cap
    with nogil:
        tau = capped_simplex_core(&z[0], n, cap, &lam[0], &work[0])
    return tau


cdef void sorted_weights_core(
    const double *losses, const int32_t *order, const double *sigma, Py_ssize_t n, double *lam
) noexcept nogil:
    """sorted_weights for arrays of n rows."""
    cdef Py_ssize_t i, first = 0, end
    cdef double weight, loss
    # Rows order[:first] have their weights.
    while first < n:
        loss = losses[order[first]]
        end = first + 1
        while end < n and losses[order[end]] == loss:
            end += 1
        weight = sigma[first]
        if sigma[end - 1] != weight:
            weight = chunked_sum(sigma + first, end - first) / <double>(end - first)
        for i in range(first, end):
            lam[order[i]] = weight
        first = end


def sorted_weights(
    const double[::1] losses, const int32_t[::1] order, const double[::1] sigma, double[::1] lam
):
    """lam[order[i]] = sigma[i], rows of exactly equal loss sharing the mean of their sigma.

    order: (n,), ascending losses; sigma monotone. Attains the unsmoothed risk.
    """
    cdef Py_ssize_t n = losses.shape[0]
    require_length(order.shape[0], n, "order")
    require_length(sigma.shape[0], n, "sigma")
    require_length(lam.shape[0], n, "lam")
    if n > 0:
        with nogil:
            sorted_weights_core(&losses[0], &order[0], &sigma[0], n, &lam[0])


def tail_weights(const double[::1] losses, double threshold, double cap, double[::1] lam):
    """lam = cap for losses above the threshold; those on it share what is left of 1, equally.

    The weights of the superquantile, threshold being the least loss that has any. lam: (n,).
    """
    cdef Py_ssize_t n = losses.shape[0], i, above = 0, equal = 0
    cdef double share
    require_length(lam.shape[0], n, "lam")
    with nogil:
        for i in range(n):
            above += losses[i] > threshold
            equal += losses[i] == threshold
        share = min(max((1.0 - cap * above) / equal, 0.0), cap)
        for i in range(n):
            lam[i] = cap * (losses[i] > threshold) + share * (losses[i] == threshold)
