# Row weights for rows with masses by thresholds, without a sort: superquantiles and subquantiles.
#
# Letters: as in weighted.pxi; z values in any order, tau a threshold.


cdef double pivot_of(const double *v, Py_ssize_t n, double share) noexcept nogil:
    """Of a sample of v, the value that about a fraction `share` exceeds."""
    cdef double sample[SAMPLE]
    cdef double x
    cdef Py_ssize_t i, j
    for i in range(SAMPLE):
        x = v[(2 * i + 1) * n // (2 * SAMPLE)]
        j = i
        while j > 0 and sample[j - 1] > x:
            sample[j] = sample[j - 1]
            j -= 1
        sample[j] = x
    return sample[<Py_ssize_t>clip((1.0 - share) * SAMPLE, 0.0, SAMPLE - 1)]


cdef double tail_threshold(
    const double *v, const double *m, Py_ssize_t n, double kept, double *left, double *left_m
) noexcept nogil:
    """The largest value v_i with a mass of at least `kept` at or above it; else the least value.

    left, left_m: (n,) scratch.
    """
    cdef double full = 0.0, above, above_lost, equal, equal_lost, rest = 0.0, pivot = v[0]
    cdef Py_ssize_t i, k
    cdef bint higher
    for i in range(n):
        rest += m[i]
    # Mass `full` lies above all values that are left, of mass `rest`; the threshold is one of them.
    while n > 0:
        pivot = pivot_of(v, n, (kept - full) / rest if rest > 0.0 else 0.5)
        above = above_lost = equal = equal_lost = 0.0
        for i in range(n):
            if v[i] > pivot:
                add_compensated(&above, &above_lost, m[i])
            elif v[i] == pivot:
                add_compensated(&equal, &equal_lost, m[i])
        above += above_lost
        equal += equal_lost
        higher = full + above >= kept
        if not higher and full + above + equal >= kept:
            break
        k = 0
        for i in range(n):
            if v[i] > pivot if higher else v[i] < pivot:
                left[k] = v[i]
                left_m[k] = m[i]
                k += 1
        if k == 0:
            break
        if higher:
            rest = above
        else:
            full += above + equal
            rest -= above + equal
        v = left
        m = left_m
        n = k
    return pivot


def weighted_tail(
    const double[::1] losses, const double[::1] masses, double kept, double[::1] lam,
    double[::1] work, double[::1] work_m
):
    """lam = m / kept above a threshold; rows on it share what is left of 1, by their masses.

    The weights of a superquantile that keeps the mass `kept` of the largest losses. lam and the
    scratch work, work_m: (n,).
    """
    cdef Py_ssize_t n = losses.shape[0], i
    cdef double threshold, above = 0.0, above_lost = 0.0, equal = 0.0, equal_lost = 0.0, share
    require_length(masses.shape[0], n, "masses")
    require_length(lam.shape[0], n, "lam")
    require_length(work.shape[0], n, "work")
    require_length(work_m.shape[0], n, "work_m")
    if n == 0:
        return
    with nogil:
        threshold = tail_threshold(&losses[0], &masses[0], n, kept, &work[0], &work_m[0])
        for i in range(n):
            if losses[i] > threshold:
                add_compensated(&above, &above_lost, masses[i])
            elif losses[i] == threshold:
                add_compensated(&equal, &equal_lost, masses[i])
        share = clip((kept - (above + above_lost)) / (equal + equal_lost), 0.0, 1.0)
        for i in range(n):
            lam[i] = masses[i] / kept * ((losses[i] > threshold) + share * (losses[i] == threshold))


cdef double clipped_mass(
    const double *z, const double *m, Py_ssize_t n, double tau, double cap, double *inside
) noexcept nogil:
    """sum m clip(z - tau, 0, cap); inside: the mass of the terms strictly between."""
    cdef double terms[SHORT_CHUNK]
    cdef double total = 0.0, lost = 0.0, some = 0.0, t
    cdef Py_ssize_t i, count, first = 0
    while first < n:
        count = min(n - first, <Py_ssize_t>SHORT_CHUNK)
        for i in range(count):
            t = clip(z[first + i] - tau, 0.0, cap)
            some += m[first + i] if 0.0 < t < cap else 0.0
            terms[i] = m[first + i] * t
        add_compensated(&total, &lost, chunked_sum(terms, count))
        first += count
    inside[0] = some
    return total + lost


cdef double find_mass_threshold(
    const double *z, const double *m, Py_ssize_t n, double mass, double cap, double tau,
    double *kept, double *kept_m
) noexcept nogil:
    """tau with sum m clip(z - tau, 0, cap) = 1, sought from the one given; see find_threshold.

    mass: of all rows. kept, kept_m: (n,) scratch.
    """
    cdef double lo, hi, excess = INFINITY, last_excess, missing = 1.0, step, inside, v
    cdef double full = 0.0, full_lost = 0.0, left
    cdef Py_ssize_t i, k, n_before
    cdef bint newton = False
    find_range(z, n, &lo, &hi)
    lo = lo - cap
    # The sum is at least 1 at lo and at most 1 at hi. Values that left z give 0, or, a mass `full`
    # of them, cap, wherever tau lies between; the others make up what is missing of 1.
    while n > 0:
        if not lo < tau < hi:
            tau = pivot_between(z, n, cap, lo, hi, clip(missing / (cap * mass), 0.0, 1.0))
            newton = False
            if not lo < tau < hi:
                break
        last_excess = excess
        excess = clipped_mass(z, m, n, tau, cap, &inside) - missing
        step = excess / inside if inside > 0.0 else 0.0
        if fabs(excess) <= NEGLIGIBLE or (inside > 0.0 and tau + step == tau):
            break
        if excess > 0.0:
            lo = tau
        else:
            hi = tau
        n_before = n
        k = 0
        left = 0.0
        for i in range(n):
            v = z[i]
            if v - hi >= cap:
                add_compensated(&full, &full_lost, m[i])
            elif v > lo:
                kept[k] = v
                kept_m[k] = m[i]
                left += m[i]
                k += 1
        z = kept
        m = kept_m
        n = k
        mass = left
        missing = 1.0 - cap * (full + full_lost)
        newton = inside > 0.0 and (
            not newton or 2 * n <= n_before or 4.0 * fabs(excess) <= fabs(last_excess)
        )
        if newton:
            tau += step
    return tau


def weighted_capped_simplex(
    const double[::1] z, const double[::1] masses, double total, double cap, double[::1] h,
    double[::1] work, double[::1] work_m
):
    """Densities h = clip(z - tau, 0, cap) with sum m h = 1; gives tau.

    The projection of z, in the norm sum m h^2, on the densities that a superquantile allows, cap
    being 1 / (M (1 - q)). total: M. z: (n,) finite, in any order; h, work, work_m: (n,).
    """
    cdef Py_ssize_t i, n = z.shape[0]
    cdef double tau, rest
    require_length(masses.shape[0], n, "masses")
    require_length(h.shape[0], n, "h")
    require_length(work.shape[0], n, "work")
    require_length(work_m.shape[0], n, "work_m")
    if n == 0 or not cap > 0.0:
        raise ValueError("the capped simplex needs one row at least and a cap above 0")
    if total * cap <= 1.0 + NEGLIGIBLE:
        tau = z[0]
        for i in range(n):
            tau = min(tau, z[i])
            h[i] = 1.0 / total
        return tau - cap
    with nogil:
        tau = find_mass_threshold(
            &z[0], &masses[0], n, total, cap, z[n // 2], &work[0], &work_m[0]
        )
        # z - tau is exact where it matters, so the rest is found below a rounding of tau.
        for i in range(n):
            h[i] = z[i] - tau
        rest = find_mass_threshold(&h[0], &masses[0], n, total, cap, 0.0, &work[0], &work_m[0])
        for i in range(n):
            h[i] = clip(h[i] - rest, 0.0, cap)
    return tau + rest
