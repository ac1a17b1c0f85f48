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


cdef void masses_beside(
    const double *v, const double *m, Py_ssize_t n, double pivot, double *above, double *equal
) noexcept nogil:
    """The mass of the values above a pivot, and of those equal to it."""
    cdef double higher[SHORT_CHUNK]
    cdef double same[SHORT_CHUNK]
    cdef double total = 0.0, lost = 0.0, on = 0.0, on_lost = 0.0
    cdef Py_ssize_t i, count, first = 0
    # Loops without branches, which the compiler can make vector instructions of.
    while first < n:
        count = min(n - first, <Py_ssize_t>SHORT_CHUNK)
        for i in range(count):
            higher[i] = m[first + i] * (v[first + i] > pivot)
        for i in range(count):
            same[i] = m[first + i] * (v[first + i] == pivot)
        add_compensated(&total, &lost, chunked_sum(higher, count))
        add_compensated(&on, &on_lost, chunked_sum(same, count))
        first += count
    above[0] = total + lost
    equal[0] = on + on_lost


cdef double tail_threshold(
    const double *v, const double *m, Py_ssize_t n, double kept, double *left, double *left_m
) noexcept nogil:
    """The largest value v_i with a mass of at least `kept` at or above it; else the least value.

    left, left_m: (n,) scratch.
    """
    cdef double full = 0.0, above, equal, rest, pivot = v[0], x, mass
    cdef Py_ssize_t i, k
    cdef bint higher
    rest = chunked_sum(m, n)
    # Mass `full` lies above all values that are left, of mass `rest`; the threshold is one of them.
    while n > 0:
        pivot = pivot_of(v, n, (kept - full) / rest if rest > 0.0 else 0.5)
        masses_beside(v, m, n, pivot, &above, &equal)
        higher = full + above >= kept
        if not higher and full + above + equal >= kept:
            break
        k = 0
        for i in range(n):
            x = v[i]
            mass = m[i]
            left[k] = x
            left_m[k] = mass
            k += (x > pivot) if higher else (x < pivot)
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
    cdef double threshold, above, equal, share
    require_length(masses.shape[0], n, "masses")
    require_length(lam.shape[0], n, "lam")
    require_length(work.shape[0], n, "work")
    require_length(work_m.shape[0], n, "work_m")
    if n == 0:
        return
    with nogil:
        threshold = tail_threshold(&losses[0], &masses[0], n, kept, &work[0], &work_m[0])
        masses_beside(&losses[0], &masses[0], n, threshold, &above, &equal)
        share = clip((kept - above) / equal, 0.0, 1.0)
        for i in range(n):
            lam[i] = masses[i] / kept * ((losses[i] > threshold) + share * (losses[i] == threshold))


cdef double clipped_mass(
    const double *z, const double *m, Py_ssize_t n, double tau, double cap, double *inside
) noexcept nogil:
    """sum m clip(z - tau, 0, cap); inside: the mass of the terms strictly between."""
    cdef double terms[SHORT_CHUNK]
    cdef double between[SHORT_CHUNK]
    cdef double total = 0.0, lost = 0.0, some = 0.0
    cdef Py_ssize_t i, count, first = 0
    while first < n:
        count = min(n - first, <Py_ssize_t>SHORT_CHUNK)
        for i in range(count):
            terms[i] = clip(z[first + i] - tau, 0.0, cap)
        for i in range(count):
            between[i] = m[first + i] * ((terms[i] > 0.0) & (terms[i] < cap))
        for i in range(count):
            terms[i] *= m[first + i]
        some += chunked_sum(between, count)
        add_compensated(&total, &lost, chunked_sum(terms, count))
        first += count
    inside[0] = some
    return total + lost


cdef Py_ssize_t keep_undecided_masses(
    const double *z, const double *m, Py_ssize_t n, double cap, double lo, double hi,
    double *kept, double *kept_m, double *full
) noexcept nogil:
    """keep_undecided with masses: that of the values at cap is `full`."""
    cdef double terms[SHORT_CHUNK]
    cdef double total = 0.0, lost = 0.0, v, mass
    cdef Py_ssize_t i, count, first = 0, k = 0
    while first < n:
        count = min(n - first, <Py_ssize_t>SHORT_CHUNK)
        for i in range(count):
            terms[i] = m[first + i] * (z[first + i] - hi >= cap)
        add_compensated(&total, &lost, chunked_sum(terms, count))
        for i in range(count):
            v = z[first + i]
            mass = m[first + i]
            kept[k] = v
            kept_m[k] = mass
            k += (v > lo) & (v - hi < cap)
        first += count
    full[0] = total + lost
    return k


cdef double find_mass_threshold(
    const double *z, const double *m, Py_ssize_t n, double mass, double cap, double tau,
    double *kept, double *kept_m
) noexcept nogil:
    """tau with sum m clip(z - tau, 0, cap) = 1, sought from the one given; see find_threshold.

    mass: of all rows. kept, kept_m: (n,) scratch.
    """
    cdef double lo, hi, excess = INFINITY, last_excess, missing = 1.0, step, inside
    cdef double full = 0.0, full_lost = 0.0, more
    cdef Py_ssize_t n_before
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
        n = keep_undecided_masses(z, m, n, cap, lo, hi, kept, kept_m, &more)
        add_compensated(&full, &full_lost, more)
        z = kept
        m = kept_m
        mass = chunked_sum(m, n)
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
