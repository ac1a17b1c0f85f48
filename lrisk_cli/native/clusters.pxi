# Clusters: nearest centres of rows, weighted means of clusters, minibatch steps.
#
# Letters: C (k, d) centres, l_i = min_j ||x_i - c_j||^2.

from libc.float cimport DBL_EPSILON

cdef extern from "native/panels.h" nogil:
    enum: PANEL_ROWS
    enum: PANEL_WIDTH
    double squared_distance(const double *x, const double *c, Py_ssize_t d)
    void nearest_of_panels(
        const double *const *x, const double *panels, Py_ssize_t n_panels, Py_ssize_t d,
        int64_t numbers, double *least, double *second, int32_t *nearest
    )

cdef struct Centres:
    # values: (k, d). panels: the same side by side, see pack_centres; NULL where they do not pay.
    const double *values
    # numbers: ones in the bits that the number of a centre needs.
    const double *panels
    int64_t numbers
    Py_ssize_t k
    Py_ssize_t d


cdef struct Waiting:
    # Rows whose distances to all centres are to be computed together.
    const double *x[PANEL_ROWS]
    Py_ssize_t row[PANEL_ROWS]
    Py_ssize_t n


cdef inline double nearest_two(
    const double *x, Centres *C, int32_t *nearest, double *second
) noexcept nogil:
    """The least and the second least ||x - c_j||^2, and the first j that attains the least."""
    cdef double least = squared_distance(x, C.values, C.d), distance
    cdef Py_ssize_t j
    nearest[0] = 0
    second[0] = INFINITY
    for j in range(1, C.k):
        distance = squared_distance(x, C.values + j * C.d, C.d)
        if distance < least:
            second[0] = least
            least = distance
            nearest[0] = j
        elif distance < second[0]:
            second[0] = distance
    return least


cdef inline double panel_slack(Py_ssize_t d) noexcept nogil:
    """How far two ways of summing d squares can differ, relative to the sum, and room to spare."""
    return 4.0 * (d + 8) * DBL_EPSILON


cdef inline Centres centres_of(
    const double[:, ::1] C, const double[::1] panels
) noexcept nogil:
    cdef Centres centres
    centres.values = &C[0, 0]
    centres.panels = NULL
    if panels.shape[0] > 0:
        centres.panels = &panels[0]
    centres.k = C.shape[0]
    centres.d = C.shape[1]
    centres.numbers = 1
    while centres.numbers < count_panels(centres.k) * PANEL_WIDTH - 1:
        centres.numbers = 2 * centres.numbers + 1
    return centres


cdef Py_ssize_t settle_waiting(
    Waiting *waiting, Centres *C, int32_t *assignment, double *losses, float *lower
) noexcept nogil:
    """Nearest centre, loss and a lower bound on the other distances of the rows that wait.

    Their losses are those of the centres assigned so far. The answer is that of nearest_two: close
    calls of the panels, which round differently, are repeated. Gives the number of changes.
    """
    cdef double least[PANEL_ROWS]
    cdef double second[PANEL_ROWS]
    cdef int32_t nearest[PANEL_ROWS]
    cdef Py_ssize_t i, r, changes = 0
    # Panels sum in another order, and lose the last bits to the numbers.
    cdef double slack = panel_slack(C.d) + 4.0 * C.numbers * DBL_EPSILON
    if C.panels != NULL and waiting.n > 0:
        for i in range(waiting.n, PANEL_ROWS):
            waiting.x[i] = waiting.x[0]
        nearest_of_panels(
            waiting.x, C.panels, count_panels(C.k), C.d, C.numbers, least, second, nearest
        )
    for i in range(waiting.n):
        r = waiting.row[i]
        if C.panels == NULL or second[i] <= least[i] * (1.0 + slack):
            losses[r] = nearest_two(waiting.x[i], C, &nearest[i], &second[i])
        elif assignment[r] != nearest[i]:
            losses[r] = squared_distance(waiting.x[i], C.values + nearest[i] * C.d, C.d)
        changes += assignment[r] != nearest[i]
        assignment[r] = nearest[i]
        # Rounded down by more than a float rounds up.
        lower[r] = <float>(sqrt(second[i]) * (1.0 - slack - 1e-7))
    waiting.n = 0
    return changes


cdef inline Py_ssize_t count_panels(Py_ssize_t k) noexcept nogil:
    return (k + PANEL_WIDTH - 1) // PANEL_WIDTH


def panel_size(Py_ssize_t k, Py_ssize_t d) -> int:
    """Length of what `pack_centres` fills; 0 where comparing one by one is quicker."""
    # Cycles, roughly: a pair costs d/4 and adding up its lanes, a row and a panel 2 d.
    if count_panels(k) * (2 * d + 20) >= k * (d // 4 + 15):
        return 0
    return count_panels(k) * PANEL_WIDTH * (d + 1)


def pack_centres(const double[:, ::1] C, double[::1] panels):
    """Put PANEL_WIDTH centres side by side, for `nearest_of_panels`."""
    cdef Py_ssize_t k = C.shape[0], d = C.shape[1], c, j
    cdef double *place
    if panels.shape[0] == 0:
        return
    require_length(panels.shape[0], count_panels(k) * PANEL_WIDTH * (d + 1), "panels")
    with nogil:
        for c in range(count_panels(k) * PANEL_WIDTH):
            place = &panels[c // PANEL_WIDTH * PANEL_WIDTH * (d + 1) + c % PANEL_WIDTH]
            # What fills up the last panel is never the nearest.
            place[0] = 0.0 if c < k else 1e300
            for j in range(d):
                place[(j + 1) * PANEL_WIDTH] = C[c, j] if c < k else 0.0


def nearest_centres(const double[:, ::1] X, const double[:, ::1] C, int32_t[::1] assignment,
                    double[::1] losses):
    """Nearest centre of each row by itself, the first of equals, and the squared distance."""
    cdef Py_ssize_t n = X.shape[0], i
    cdef Centres centres = centres_of(C, losses[:0])
    cdef double second
    require_length(assignment.shape[0], n, "assignment")
    require_length(losses.shape[0], n, "losses")
    with nogil:
        for i in range(n):
            losses[i] = nearest_two(&X[i, 0], &centres, &assignment[i], &second)


def reassign_rows(const double[:, ::1] X, const double[:, ::1] C, const double[::1] panels,
                  const double[::1] moved, const double[::1] apart, int32_t[::1] assignment,
                  double[::1] losses, float[::1] lower) -> int:
    """`nearest_centres` after the centres moved; the number of rows whose centre changed.

    moved[j]: how far centre j went. apart[j]: half its distance to the nearest other centre.
    lower[i]: at most the distance of row i to any centre but its own. Rows that by these cannot
    have changed are not compared (Hamerly's test). At first all zero, so that all are.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i, j, fastest = 0, changes = 0
    cdef Centres centres = centres_of(C, panels)
    cdef Waiting waiting
    cdef double most = 0, next_most = 0, bound, slack = 1.0 + panel_slack(d)
    cdef int32_t own
    require_length(assignment.shape[0], n, "assignment")
    require_length(losses.shape[0], n, "losses")
    require_length(lower.shape[0], n, "lower")
    waiting.n = 0
    with nogil:
        for j in range(centres.k):
            if moved[j] > most:
                next_most = most
                most = moved[j]
                fastest = j
            elif moved[j] > next_most:
                next_most = moved[j]
        for i in range(n):
            if i + ROWS_AHEAD < n:
                prefetch_row(&X[i + ROWS_AHEAD, 0], d)
            own = assignment[i]
            losses[i] = squared_distance(&X[i, 0], centres.values + own * d, d)
            bound = lower[i] - (next_most if own == fastest else most)
            lower[i] = <float>(max(bound, 0.0) * (1.0 - 1e-7))
            bound = max(<double>lower[i], apart[own])
            if losses[i] * slack < bound * bound:
                continue
            waiting.x[waiting.n] = &X[i, 0]
            waiting.row[waiting.n] = i
            waiting.n += 1
            if waiting.n == PANEL_ROWS:
                changes += settle_waiting(
                    &waiting, &centres, &assignment[0], &losses[0], &lower[0]
                )
        changes += settle_waiting(&waiting, &centres, &assignment[0], &losses[0], &lower[0])
    return changes


def cluster_shifts(const double[:, ::1] X, const double[:, ::1] C, const int32_t[::1] assignment,
                   const double[::1] lam, double[:, ::1] shifts, double[::1] masses):
    """masses[j] = sum of lam_i, shifts[j] = sum of lam_i (x_i - c_j), over the rows of cluster j.

    Differences, so that sums of many rows far from 0 keep their digits.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], k = C.shape[0], i, j
    cdef const double *x
    cdef const double *c
    cdef double *total
    cdef double weight
    with nogil:
        memset(&shifts[0, 0], 0, k * d * sizeof(double))
        memset(&masses[0], 0, k * sizeof(double))
        for i in range(n):
            weight = lam[i]
            if i + ROWS_AHEAD < n:
                prefetch_row(&X[i + ROWS_AHEAD, 0], d)
            x = &X[i, 0]
            c = &C[assignment[i], 0]
            total = &shifts[assignment[i], 0]
            masses[assignment[i]] += weight
            for j in range(d):
                total[j] += weight * (x[j] - c[j])


def centre_gaps(const double[:, ::1] C, double[::1] gaps):
    """gaps[j]: squared distance of centre j to the nearest other one; infinite for one alone."""
    cdef Py_ssize_t k = C.shape[0], d = C.shape[1], i, j
    cdef double distance
    require_length(gaps.shape[0], k, "gaps")
    with nogil:
        for j in range(k):
            gaps[j] = INFINITY
        for j in range(k):
            for i in range(j):
                distance = squared_distance(&C[i, 0], &C[j, 0], d)
                gaps[i] = min(gaps[i], distance)
                gaps[j] = min(gaps[j], distance)


def closer_losses(const double[:, ::1] X, const double[::1] centre, const double[::1] losses,
                  double[::1] out):
    """out = the losses once this centre is there too: min(l_i, ||x_i - c||^2)."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i
    require_length(losses.shape[0], n, "losses")
    require_length(out.shape[0], n, "out")
    with nogil:
        for i in range(n):
            if i + ROWS_AHEAD < n:
                prefetch_row(&X[i + ROWS_AHEAD, 0], d)
            out[i] = min(losses[i], squared_distance(&X[i, 0], &centre[0], d))


def count_distinct(const double[:, ::1] X, int32_t[::1] found) -> int:
    """The number of distinct rows, counted no further than `found` has room for their numbers."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], count = 0, i, j, f
    with nogil:
        for i in range(n):
            if count == found.shape[0]:
                break
            for f in range(count):
                j = 0
                while j < d and X[i, j] == X[found[f], j]:
                    j += 1
                if j == d:
                    break
            else:
                found[count] = i
                count += 1
    return count


def cluster_steps(const double[:, ::1] X, const double[::1] sigma, double[:, ::1] C,
                  double[:, ::1] gradient, double step, Py_ssize_t n_steps, uint64_t[::1] rng,
                  int32_t[::1] pool, int32_t[::1] nearest, double[::1] losses,
                  int32_t[::1] order):
    """Steps C <- C - step v, v = sum_b sigma_b grad l_(b)(C) over a batch drawn from the pool.

    The gradient of l_i is 2 (c_j - x_i) for its nearest centre. sigma, nearest, losses, order: as
    long as a batch; pool: rows in any order, one as often as it counts; gradient: (k, d) scratch.
    """
    cdef Py_ssize_t k = C.shape[0], d = C.shape[1], m = sigma.shape[0], t, b, j
    cdef Centres centres = centres_of(C, sigma[:0])
    cdef Batch batch = Batch(0, 0.0, 1, d, k, m, NULL, &losses[0], &order[0], &pool[0])
    cdef double second
    cdef const double *x
    cdef const double *c
    cdef double *g
    with nogil:
        for t in range(n_steps):
            draw_batch(&batch, &rng[0], pool.shape[0])
            for b in range(m):
                losses[b] = nearest_two(&X[pool[b], 0], &centres, &nearest[b], &second)
            sort_batch(&batch)
            memset(&gradient[0, 0], 0, k * d * sizeof(double))
            for b in range(m):
                x = &X[pool[order[b]], 0]
                c = &C[nearest[order[b]], 0]
                g = &gradient[nearest[order[b]], 0]
                for j in range(d):
                    g[j] += sigma[b] * (c[j] - x[j])
            for j in range(k * d):
                (&C[0, 0])[j] -= 2.0 * step * (&gradient[0, 0])[j]
