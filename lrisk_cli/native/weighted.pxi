# Row weights for rows with masses: by rank and by PAV.
#
# Letters: m masses of rows, M their sum, lam weights of rows, h = lam / m their densities, sigma_i
# the weight that the spectrum gives to the mass of the i-th row in ascending order.


cdef double compensated_sum(const double *x, Py_ssize_t n) noexcept nogil:
    """Sum of x, to a rounding of itself where nothing cancels."""
    cdef double total = 0.0, lost = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        add_compensated(&total, &lost, x[i])
    return total + lost


def heavier_masses(
    const double[::1] masses, const int32_t[::1] order, bint rising,
    double[::1] ordered, double[::1] heavier
):
    """ordered[i] = masses[order[i]], and heavier[i] the mass of the rows that get denser weights.

    These are the rows after i in the order if the spectrum is rising, else those before.
    """
    cdef Py_ssize_t n = masses.shape[0], i, k
    cdef double total = 0.0, lost = 0.0, m
    require_length(order.shape[0], n, "order")
    require_length(ordered.shape[0], n, "ordered")
    require_length(heavier.shape[0], n, "heavier")
    with nogil:
        for k in range(n):
            i = n - 1 - k if rising else k
            # Masses are far apart in memory; they are asked for before they are needed.
            if k + AHEAD < n:
                lrisk_prefetch(&masses[order[i - AHEAD if rising else i + AHEAD]])
            m = masses[order[i]]
            ordered[i] = m
            heavier[i] = total + lost
            add_compensated(&total, &lost, m)


def extremile_weights(
    const double[::1] ordered, const double[::1] heavier, double total, double r,
    double[::1] sigma
):
    """sigma_i = t^r - s^r, t = 1 - heavier_i / M and s = t - m_i / M, without cancellation.

    t^r (1 - (1 - x)^r) with x = m_i / (M - heavier_i): a series where x is small.
    """
    cdef Py_ssize_t n = ordered.shape[0], i
    cdef double rest, x, drop
    require_length(heavier.shape[0], n, "heavier")
    require_length(sigma.shape[0], n, "sigma")
    with nogil:
        for i in range(n):
            rest = max(total - heavier[i], ordered[i])
            x = ordered[i] / rest
            if x * (r + 4.0) < 2e-3:
                # What the fifth term leaves out is below a rounding.
                drop = r * x * (1.0 - (r - 1.0) / 2.0 * x * (1.0 - (r - 2.0) / 3.0 * x * (
                    1.0 - (r - 3.0) / 4.0 * x * (1.0 - (r - 4.0) / 5.0 * x))))
            elif x < 1.0:
                drop = -expm1(r * log1p(-x))
            else:
                drop = 1.0
            x = rest / total
            sigma[i] = drop * (x * x if r == 2.0 else exp(r * log(x)))


# ---------------------------------------------------------------------------------------------
# L2 smoothing: PAV on z - nu sigma / m with weights m, z being densities.

cdef Py_ssize_t pool_masses(
    const double *z, const double *sigma, const double *m, double nu, Py_ssize_t n,
    double *sums, double *sizes, int32_t *starts
) noexcept nogil:
    """Blocks of the fit: starts[k], k < the number returned. sums, sizes: (n,) scratch."""
    cdef Py_ssize_t i, first = 0, previous, n_closed = 0
    cdef double size = m[0], total = nu * sigma[0], rise, left
    # Open block: first .. i-1 of mass `size`, total = sum of nu sigma_i - m_i (z_i - z_first), so
    # its level is z_first - total / size. Closed blocks lie left of it with increasing levels.
    # Ties are pooled whatever the rounding.
    for i in range(1, n):
        rise = nu * sigma[i] - m[i] * (z[i] - z[first])
        if size * rise < total * m[i] and z[i] > z[i - 1]:
            starts[n_closed] = <int32_t>first
            sums[n_closed] = total
            sizes[n_closed] = size
            n_closed += 1
            first = i
            size = m[i]
            total = nu * sigma[i]
            continue
        total += rise
        size += m[i]
        while n_closed > 0:
            previous = starts[n_closed - 1]
            left = sizes[n_closed - 1]
            rise = total - size * (z[first] - z[previous])
            if left * rise < size * sums[n_closed - 1]:
                break
            n_closed -= 1
            total = sums[n_closed] + rise
            size += left
            first = previous
    starts[n_closed] = <int32_t>first
    return n_closed + 1


cdef void spread_masses(
    const double *z, const double *sigma, const double *m, double nu, Py_ssize_t n, double *lam
) noexcept nogil:
    """lam of one block: m_i times (z_i - mean z) / nu + sum sigma / sum m, within its densities."""
    cdef double low, high, shift = 0.0, lost = 0.0, size = 0.0, size_lost = 0.0, z0 = z[0]
    cdef Py_ssize_t i
    low = min(sigma[0] / m[0], sigma[n - 1] / m[n - 1])
    high = max(sigma[0] / m[0], sigma[n - 1] / m[n - 1])
    if low == high:
        for i in range(n):
            lam[i] = m[i] * low
        return
    for i in range(n):
        add_compensated(&shift, &lost, nu * sigma[i] - m[i] * (z[i] - z0))
        add_compensated(&size, &size_lost, m[i])
    shift = (shift + lost) / (size + size_lost)
    for i in range(n):
        lam[i] = m[i] * clip(((z[i] - z0) + shift) / nu, low, high)


def weighted_pav_l2(
    const double[::1] sorted_z, const double[::1] sigma, const double[::1] ordered, double nu,
    double[::1] lam, int32_t[::1] block_starts, double[::1] work
):
    """lam = argmax of lam . z - nu/2 sum lam_i^2 / m_i over the weights allowed, z ascending.

    For a rising spectrum. ordered: the masses in this order. Fills lam (n,) and the first row of
    each block, and gives the number of blocks. work: (n,) scratch.
    """
    cdef Py_ssize_t n = sorted_z.shape[0], n_blocks, k, first, end
    require_length(sigma.shape[0], n, "sigma")
    require_length(ordered.shape[0], n, "ordered")
    require_length(lam.shape[0], n, "lam")
    require_length(block_starts.shape[0], n, "block_starts")
    require_length(work.shape[0], n, "work")
    if n == 0:
        return 0
    with nogil:
        n_blocks = pool_masses(
            &sorted_z[0], &sigma[0], &ordered[0], nu, n, &lam[0], &work[0], &block_starts[0]
        )
        for k in range(n_blocks):
            first = block_starts[k]
            end = block_starts[k + 1] if k + 1 < n_blocks else n
            if end == first + 1:
                lam[first] = sigma[first]
            else:
                spread_masses(&sorted_z[first], &sigma[first], &ordered[first], nu, end - first,
                              &lam[first])
    return n_blocks


# ---------------------------------------------------------------------------------------------
# Entropy smoothing. A block keeps E = sum m_i exp((l_i - l_last) / nu) and S = sum sigma_i.

cdef Py_ssize_t pool_masses_entropy(
    const double *l, const double *sigma, const double *m, double nu, Py_ssize_t n,
    double *Es, double *Ss, int32_t *starts
) noexcept nogil:
    """Blocks of the entropic fit: starts[k], k < the number returned. Es, Ss: (n,) scratch."""
    cdef Py_ssize_t i, first = 0, n_closed = 0
    cdef double E = m[0], S = sigma[0], decay = 0.0
    for i in range(1, n):
        decay = 1.0
        if l[i] > l[i - 1] and not level_falls(
            (l[i] - l[i - 1]) / nu, E, S, m[i], sigma[i], &decay
        ):
            starts[n_closed] = <int32_t>first
            Es[n_closed] = E
            Ss[n_closed] = S
            n_closed += 1
            first = i
            E = m[i]
            S = sigma[i]
            continue
        E = m[i] + decay * E
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


cdef void spread_masses_entropy(
    const double *l, const double *sigma, const double *m, double nu, Py_ssize_t n, double *lam
) noexcept nogil:
    """lam of one block: sum(sigma) times the softmax of l / nu + log m, within its densities."""
    cdef double last = l[n - 1], scale, low = sigma[0] / m[0], high = sigma[n - 1] / m[n - 1]
    cdef Py_ssize_t i
    for i in range(n):
        lam[i] = m[i] * exp((l[i] - last) / nu)
    scale = compensated_sum(sigma, n) / compensated_sum(lam, n)
    for i in range(n):
        lam[i] = clip(scale * lam[i], m[i] * min(low, high), m[i] * max(low, high))


def weighted_pav_entropy(
    const double[::1] sorted_losses, const double[::1] sigma, const double[::1] ordered, double nu,
    double[::1] lam, int32_t[::1] block_starts, double[::1] work
):
    """lam = argmax of lam . l - nu sum lam_i log(M lam_i / m_i) over the weights allowed.

    For ascending losses; the rest as in weighted_pav_l2.
    """
    cdef Py_ssize_t n = sorted_losses.shape[0], n_blocks, k, first, end
    require_length(sigma.shape[0], n, "sigma")
    require_length(ordered.shape[0], n, "ordered")
    require_length(lam.shape[0], n, "lam")
    require_length(block_starts.shape[0], n, "block_starts")
    require_length(work.shape[0], n, "work")
    if n == 0:
        return 0
    with nogil:
        n_blocks = pool_masses_entropy(
            &sorted_losses[0], &sigma[0], &ordered[0], nu, n, &lam[0], &work[0], &block_starts[0]
        )
        for k in range(n_blocks):
            first = block_starts[k]
            end = block_starts[k + 1] if k + 1 < n_blocks else n
            if end == first + 1:
                lam[first] = sigma[first]
            else:
                spread_masses_entropy(&sorted_losses[first], &sigma[first], &ordered[first], nu,
                                      end - first, &lam[first])
    return n_blocks


# ---------------------------------------------------------------------------------------------
# Without smoothing.

def weighted_sorted_weights(
    const double[::1] losses, const int32_t[::1] order, const double[::1] sigma,
    const double[::1] ordered, double[::1] lam
):
    """lam[order[i]] = sigma[i], rows of exactly equal loss sharing theirs by their masses."""
    cdef Py_ssize_t n = losses.shape[0], i, first = 0, end
    cdef double loss, density
    require_length(order.shape[0], n, "order")
    require_length(sigma.shape[0], n, "sigma")
    require_length(ordered.shape[0], n, "ordered")
    require_length(lam.shape[0], n, "lam")
    with nogil:
        while first < n:
            if first + AHEAD < n:
                lrisk_prefetch(&losses[order[first + AHEAD]])
                lrisk_prefetch(&lam[order[first + AHEAD]])
            loss = losses[order[first]]
            end = first + 1
            while end < n and losses[order[end]] == loss:
                end += 1
            if end == first + 1:
                lam[order[first]] = sigma[first]
            else:
                density = compensated_sum(&sigma[first], end - first)
                density /= compensated_sum(&ordered[first], end - first)
                for i in range(first, end):
                    lam[order[i]] = density * ordered[i]
            first = end


def weighted_mixing_share(
    const double[::1] lam, const double[::1] sigma, const double[::1] even
) -> float:
    """The least share of the even weights that brings lam among the weights allowed.

    All three sorted by ascending density of lam; even: m / M. As mixing_share.
    """
    cdef Py_ssize_t n = sigma.shape[0], k
    cdef double excess = 0, lost = 0, above = 0, above_lost = 0, top = 0, share = 0, over
    require_length(lam.shape[0], n, "lam")
    require_length(even.shape[0], n, "even")
    with nogil:
        for k in range(n - 1, -1, -1):
            add_compensated(&excess, &lost, lam[k] - sigma[k])
            add_compensated(&above, &above_lost, lam[k] - even[k])
            top += lam[k]
            over = excess + lost
            if over > 1e-15 * top:
                share = max(share, min(1.0, over / max(above + above_lost, over)))
    return share
