# The pinball loss of a number, and the same with its kink rounded off.

cdef inline double pinball_loss(double z, double y, double level) noexcept nogil:
    """level d for d = y - z >= 0, else (1 - level) |d|."""
    cdef double d = y - z
    return level * d if d >= 0.0 else (1.0 - level) * -d


cdef inline double pinball_derivative(double z, double y, double level) noexcept nogil:
    """One of its derivatives in z: 0 at the kink."""
    cdef double d = y - z
    if d > 0.0:
        return -level
    return 1.0 - level if d < 0.0 else 0.0


cdef inline double soft_slope(double d, double level, double width) noexcept nogil:
    """s = d / width, cut off at -(1 - level) and level: what attains max of s d - width s^2 / 2."""
    cdef double s = d / width
    if s > level:
        return level
    return -(1.0 - level) if s < -(1.0 - level) else s


def pinball_losses(const double[::1] z, const double[::1] y, double level, double[::1] out):
    """out = pinball loss of y - z."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            out[i] = pinball_loss(z[i], y[i], level)


def pinball_derivatives(const double[::1] z, const double[::1] y, double level, double[::1] out):
    """out = its derivative in z."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            out[i] = pinball_derivative(z[i], y[i], level)


def soft_pinball(
    const double[::1] z, const double[::1] y, double level, double width,
    double[::1] losses, double[::1] derivatives, double[::1] minorants,
):
    """The rounded loss s d - width s^2 / 2, its derivative -s in z, and s d, which is between both.

    Nothing cancels: s d and width s^2 differ by a factor of at most 1 inside, where they are equal.
    """
    cdef Py_ssize_t i
    cdef double d, s
    with nogil:
        for i in range(z.shape[0]):
            d = y[i] - z[i]
            s = soft_slope(d, level, width)
            losses[i] = s * (d - 0.5 * width * s)
            derivatives[i] = -s
            minorants[i] = s * d
