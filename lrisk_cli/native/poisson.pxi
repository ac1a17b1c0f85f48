# Half the deviance of a count. A target is three numbers: the count y, its exposure e, and
# c = log(e / y), or log(e) where the count is 0. With the margin z the mean is m = e exp(z), and
# t = z + c is log(m / y), or log(m):
#     loss = m - y + y log(y / m) = y (exp(t) - 1 - t), or exp(t) where y is 0.

cdef enum:
    # Beyond this t a loss goes on along its tangent, so that nothing overflows.
    STEEPEST = 300
    TERMS = 18

# 1 / (k + 2)!
cdef double[18] EXCESS = [
    0.5, 0.16666666666666666, 0.041666666666666664, 0.008333333333333333, 0.001388888888888889,
    0.0001984126984126984, 2.48015873015873e-05, 2.7557319223985893e-06, 2.755731922398589e-07,
    2.505210838544172e-08, 2.08767569878681e-09, 1.6059043836821613e-10, 1.1470745597729725e-11,
    7.647163731819816e-13, 4.779477332387385e-14, 2.8114572543455206e-15, 1.5619206968586225e-16,
    8.22063524662433e-18,
]


cdef inline double exp_excess(double t) noexcept nogil:
    """exp(t) - 1 - t to a few units in the last place; by its series where it would cancel."""
    cdef double total = EXCESS[TERMS - 1], steepest
    cdef int k
    if fabs(t) < 1.0:
        for k in range(TERMS - 2, -1, -1):
            total = EXCESS[k] + t * total
        return t * t * total
    if t <= STEEPEST:
        return expm1(t) - t
    steepest = expm1(<double>STEEPEST)
    return (steepest - STEEPEST) + steepest * (t - STEEPEST)


cdef inline double exp_tangent(double t) noexcept nogil:
    """exp(t), along its tangent beyond the steepest point."""
    cdef double steepest
    if t <= STEEPEST:
        return exp(t)
    steepest = exp(<double>STEEPEST)
    return steepest + steepest * (t - STEEPEST)


cdef inline double poisson_loss(double z, const double *y) noexcept nogil:
    cdef double t = z + y[2]
    return exp_tangent(t) if y[0] == 0 else y[0] * exp_excess(t)


cdef inline double poisson_derivative(double z, const double *y) noexcept nogil:
    """m - y without cancellation."""
    cdef double t = z + y[2]
    t = STEEPEST if t > STEEPEST else t
    return exp(t) if y[0] == 0 else y[0] * expm1(t)


def poisson_losses(const double[::1] z, const double[:, ::1] y, double[::1] out):
    """out = m - y + y log(y / m), m = e exp(z)."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            out[i] = poisson_loss(z[i], &y[i, 0])


def poisson_derivatives(const double[::1] z, const double[:, ::1] y, double[::1] out):
    """out = m - y."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            out[i] = poisson_derivative(z[i], &y[i, 0])


def poisson_curvatures(const double[::1] z, const double[:, ::1] y, double[::1] out):
    """out = m."""
    cdef Py_ssize_t i
    cdef double t
    with nogil:
        for i in range(z.shape[0]):
            t = z[i] + y[i, 2]
            t = STEEPEST if t > STEEPEST else t
            out[i] = exp(t) if y[i, 0] == 0 else y[i, 0] * exp(t)
