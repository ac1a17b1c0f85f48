"""L-BFGS for the inner problems: for more unknowns than Newton's matrices can hold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.solvers.proximal import Place, ProximalPoint

Array = NDArray[np.float64]

# Iterations of L-BFGS that count as one Newton step when the smoothing is adapted.
PER_STEP = 25
MAX_ITERATIONS = 400
MEMORY = 20


class Lbfgs(ProximalPoint):
    """Needs gradients only; phi is smooth, with curvature of order 1/nu between tied rows."""

    def inner(self, place: Place) -> tuple[Place, int]:
        """L-BFGS on phi until its gradient could hide no more than a tenth of the gap left."""
        from scipy import optimize  # takes a while to load

        problem, course = self.problem, self.course
        latest = [place]

        def phi_and_gradient(flat: Array) -> tuple[float, Array]:
            W = flat.reshape(problem.shape)
            latest[0] = self.place(W, problem.margins(W))
            course.passes += 2.0
            gradient = problem.gradient(W, latest[0].Z, latest[0].lam)
            return latest[0].phi, gradient.ravel()

        def stop_at_limits(_: Any) -> None:
            if course.exhausted():
                raise StopIteration

        allowed = 0.1 * max(self._left(), course.limits.tol * course.gained)
        minimize: Any = optimize.minimize
        found = minimize(
            phi_and_gradient, place.W.ravel(), jac=True, method="L-BFGS-B", callback=stop_at_limits,
            options={"maxiter": MAX_ITERATIONS, "maxfun": 2 * MAX_ITERATIONS, "maxcor": MEMORY,
                     "ftol": 0.0, "gtol": np.sqrt(2.0 * problem.mu * allowed / place.W.size)},
        )  # fmt: skip
        W = np.ascontiguousarray(found.x.reshape(problem.shape))
        place = self.place(W, problem.margins(W))
        weighed = course.weigher.weigh(place.losses)
        objective = weighed.value + problem.penalty(W)
        course.offer(W, objective, objective)
        course.prove(place.lam, W)
        course.note(objective, weighed.rank_changes)
        return place, 1 + int(found.nit) // PER_STEP

    def _left(self) -> float:
        """The gap that is left, absolute; what was gained while nothing is proved."""
        course = self.course
        return course.best - course.bound if np.isfinite(course.bound) else course.gained
