# Smoothed weights: sorted losses enter, weights in the permutahedron P(sigma) leave, by pooling
# adjacent violators (PAV).
#
# Letters: l sorted losses, z sorted values, sigma the spectrum, lam the weights, nu the smoothing.
# A block is a run of rows that PAV pools.

cdef enum:
    SHORT_CHUNK = 256     # terms summed plainly before rounding is made good


cdef inline double clip(double x, double low, double high) noexcept nogil:
    """The number in [low, high] nearest to x."""
    x = low if x < low else x
    return high if x > high else x


cdef double chunked_sum(const double *x, Py_ssize_t n) noexcept nogil:
    """Sum whose rounding does not grow with n: short chunks by four running sums."""
    cdef double total = 0.0, lost = 0.0, s0, s1, s2, s3
    cdef Py_ssize_t i = 0, stop
    while i < n:
        stop = min(n, i + SHORT_CHUNK)
        s0 = s1 = s2 = s3 = 0.0
        # s0 .. s3 share the elements of this chunk up to i.
        while i + 4 <= stop:
            s0 += x[i]
            s1 += x[i + 1]
            s2 += x[i + 2]
            s3 += x[i + 3]
            i += 4
        while i < stop:
            s0 += x[i]
            i += 1
        add_compensated(&total, &lost, (s0 + s1) + (s2 + s3))
    return total + lost


# ---------------------------------------------------------------------------------------------
# L2 smoothing. PAV runs on z - nu sigma; values enter only as differences inside a block, which
# spans no more than nu (sigma_n - sigma_1), so nothing cancels as nu -> 0.

cdef Py_ssize_t pool_l2(
    const double *z, const double *sigma, double nu, Py_ssize_t n, double *sums, int32_t *starts
) noexcept nogil:
    """Blocks of the non-decreasing fit to z - nu sigma: starts[k], k < the number returned.

    sums: (n,) scratch.
    """
    cdef Py_ssize_t i, first = 0, previous, n_closed = 0
    cdef double count = 1.0, total = nu * sigma[0], rise, left
    # Open block: first .. i-1, `count` rows, total = sum of nu sigma_i - (z_i - z_first), so its
    # level is z_first - total / count. Closed blocks lie left of it with increasing levels. Ties
    # are pooled whatever the rounding.
    for i in range(1, n):
        rise = nu * sigma[i] - (z[i] - z[first])
        if count * rise < total and z[i] > z[i - 1]:
            starts[n_closed] = <int32_t>first
            sums[n_closed] = total
            n_closed += 1
            first = i
            count = 1.0
            total = nu * sigma[i]
            continue
        total += rise
        count += 1.0
        while n_closed > 0:
            previous = starts[n_closed - 1]
            left = <double>(first - previous)
            rise = total - count * (z[first] - z[previous])
            if left * rise < count * sums[n_closed - 1]:
                break
            n_closed -= 1
            total = sums[n_closed] + rise
            count += left
            first = previous
    starts[n_closed] = <int32_t>first
    return n_closed + 1


cdef double block_shift(
    const double *z, const double *sigma, double nu, Py_ssize_t n
) noexcept nogil:
    """Mean of nu sigma_i - (z_i - z_0) over a block."""
    cdef double terms[SHORT_CHUNK]
    cdef double total = 0.0, lost = 0.0, z0 = z[0]
    cdef Py_ssize_t i, m, first = 0
    # total + lost is the sum over the rows before first.
    while first < n:
        m = min(n - first, <Py_ssize_t>SHORT_CHUNK)
        for i in range(m):
            terms[i] = nu * sigma[first + i] - (z[first + i] - z0)
        add_compensated(&total, &lost, chunked_sum(terms, m))
        first += m
    return (total + lost) / <double>n


cdef void spread_l2(
    const double *z, const double *sigma, double nu, Py_ssize_t n, double *lam
) noexcept nogil:
    """lam of one block: (z_i - mean z) / nu + mean sigma, within the block's range of sigma."""
    cdef double shift, low = min(sigma[0], sigma[n - 1]), high = max(sigma[0], sigma[n - 1])
    cdef double z0 = z[0]
    cdef Py_ssize_t i
    if low == high:
        for i in range(n):
            lam[i] = low
        return
    shift = block_shift(z, sigma, nu, n)
    for i in range(n):
        lam[i] = clip(((z[i] - z0) + shift) / nu, low, high)


cdef Py_ssize_t pav_l2_core(
    const double *z, const double *sigma, double nu, Py_ssize_t n, double *lam, int32_t *starts
) noexcept nogil:
    """pav_l2 for n > 0."""
    cdef Py_ssize_t k, first, end, n_blocks
    # The smoothed minimum: the same formulas with -nu.
    if sigma[0] > sigma[n - 1]:
        nu = -nu
    n_blocks = pool_l2(z, sigma, nu, n, lam, starts)
    # Blocks before k have their weights.
    for k in range(n_blocks):
        first = starts[k]
        end = starts[k + 1] if k + 1 < n_blocks else n
        if end == first + 1:
            lam[first] = sigma[first]
        else:
            spread_l2(z + first, sigma + first, nu, end - first, lam + first)
    return n_blocks


def pav_l2(
    const double[::1] sorted_losses, const double[::1] sigma, double nu,
    double[::1] lam, int32_t[::1] block_starts
):
    """lam = argmax over P(sigma) of lam . l - nu/2 ||lam - 1/n||^2, for ascending losses.

    With nu = 1 this is the projection of any ascending z on P(sigma). sigma is monotone; a falling
    one gives argmin of lam . l + nu/2 ||lam - 1/n||^2. Fills lam (n,) and the first row of each
    block in block_starts (n,), and gives the number of blocks.
    """
    cdef Py_ssize_t n = sorted_losses.shape[0], n_blocks
    require_length(sigma.shape[0], n, "sigma")
    require_length(lam.shape[0], n, "lam")
    require_length(block_starts.shape[0], n, "block_starts")
    if n == 0:
        return 0
    with nogil:
        n_blocks = pav_l2_core(&sorted_losses[0], &sigma[0], nu, n, &lam[0], &block_starts[0])
    return n_blocks


# ---------------------------------------------------------------------------------------------
# Entropy smoothing. A block keeps E = sum exp((l_i - l_last) / nu), between 1 and its length, and
# S = sum sigma_i; its level is l_last / nu + log(E / S), infinite while S = 0.

cdef inline double exp_minus(double gap) noexcept nogil:
    """exp(-gap), gap >= 0. Neighbouring losses are close: below 1e-3 five terms are exact."""
    if gap < 1e-3:
        return 1.0 - gap * (1.0 - gap * (0.5 - gap * (1.0 / 6.0 - gap * (1.0 / 24.0))))
    return exp(-gap)


cdef inline bint level_falls(
    double gap, double E_left, double S_left, double E, double S, double *decay
) noexcept nogil:
    """Whether the left block's level reaches that of the block whose last loss is gap nu above.

    On True, decay holds exp(-gap). exp(-gap) <= 1 / (1 + gap) settles most cases without it.
    """
    if E_left * S < E * S_left * (1.0 + gap):
        return False
    decay[0] = exp_minus(gap)
    return decay[0] * E_left * S >= E * S_left


cdef Py_ssize_t pool_entropy(
    const double *l, const double *sigma, double nu, Py_ssize_t n,
    double *Es, double *Ss, int32_t *starts
) noexcept nogil:
    """Blocks of the entropic fit: starts[k], k < the number returned. Es, Ss: (n,) scratch."""
    cdef Py_ssize_t i, first = 0, n_closed = 0
    cdef double E = 1.0, S = sigma[0], decay = 0.0
    # Open block: first .. i-1 with E and S. Closed blocks lie left of it with increasing levels.
    # Ties are pooled whatever the rounding.
    for i in range(1, n):
        decay = 1.0
        if l[i] > l[i - 1] and not level_falls(
            (l[i] - l[i - 1]) / nu, E, S, 1.0, sigma[i], &decay
        ):
            starts[n_closed] = <int32_t>first
            Es[n_closed] = E
            Ss[n_closed] = S
            n_closed += 1
            first = i
            E = 1.0
            S = sigma[i]
            continue
        E = 1.0 + decay * E
        S += sigma[i]
        while n_closed > 0 and level_falls(
            (l[i] - l[first - 1]) / nu, Es[n_closed - 1], Ss[n_closed - 1], E, S, &decay
        ):
            n_closed -= 1
            first = starts[n_closed]
            E += decay * Es[n_closed]
            S += Ss[n_closed]
    starts[n_closed] = <int32_t>first
    return n_closed + 1


cdef void spread_entropy(
    const double *l, const double *sigma, double nu, Py_ssize_t n, double *lam
) noexcept nogil:
    """lam of one block: sum(sigma) softmax(l / nu), within the block's range of sigma."""
    cdef double last = l[n - 1], scale
    cdef Py_ssize_t i
    if sigma[0] == sigma[n - 1]:
        for i in range(n):
            lam[i] = sigma[0]
        return
    for i in range(n):
        lam[i] = exp((l[i] - last) / nu)
    scale = chunked_sum(sigma, n) / chunked_sum(lam, n)
    for i in range(n):
        lam[i] = clip(scale * lam[i], sigma[0], sigma[n - 1])


cdef Py_ssize_t pav_entropy_core(
    const double *l, const double *sigma, double nu, Py_ssize_t n,
    double *lam, int32_t *starts, double *work
) noexcept nogil:
    """pav_entropy for n > 0."""
    cdef Py_ssize_t k, first, end, n_blocks = pool_entropy(l, sigma, nu, n, lam, work, starts)
    # Blocks before k have their weights.
    for k in range(n_blocks):
        first = starts[k]
        end = starts[k + 1] if k + 1 < n_blocks else n
        if end == first + 1:
            lam[first] = sigma[first]
        else:
            spread_entropy(l + first, sigma + first, nu, end - first, lam + first)
    return n_blocks


def pav_entropy(
    const double[::1] sorted_losses, const double[::1] sigma, double nu,
    double[::1] lam, int32_t[::1] block_starts, double[::1] work
):
    """lam = argmax over P(sigma) of lam . l - nu sum lam_i log(n lam_i), for ascending losses.

    sigma rises; zero weights are exact. Fills lam (n,) and the first row of each block in
    block_starts (n,), and gives the number of blocks. work: (n,) scratch.
    """
    cdef Py_ssize_t n = sorted_losses.shape[0], n_blocks
    require_length(sigma.shape[0], n, "sigma")
    require_length(lam.shape[0], n, "lam")
    require_length(block_starts.shape[0], n, "block_starts")
    require_length(work.shape[0], n, "work")
    if n == 0:
        return 0
    with nogil:
        n_blocks = pav_entropy_core(
            &sorted_losses[0], &sigma[0], nu, n, &lam[0], &block_starts[0], &work[0]
        )
    return n_blocks
