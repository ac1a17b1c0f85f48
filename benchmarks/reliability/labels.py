"""Which wrong labels does detect-outliers find, and what does it call wrong on clean tables?

Bound: precision at least cleanlab's less 0.02 and recall at least 0.9x cleanlab's where labels were
flipped; flagged rows within 0.02 of the estimated fraction; at most 2 % of the labels of tables
called wrong where none was flipped.

Data: scikit-learn's breast cancer, iris, wine and digits, generated, and heart_cleveland and adult
of the real tables.

Flips are uniform over the other classes, or of one class only. cleanlab (optional) judges
probabilities of scikit-learn's LogisticRegression by five folds.
"""

import csv
import warnings
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.common.data import REAL_DATA, is_missing
from benchmarks.common.record import Row, make_parser, start
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.native.threads import one_thread
from lrisk_cli.robust.inlier_weights import find_inlier_weights
from lrisk_cli.robust.labels import LabelJudgement
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.types import Array, Flags, Index

Draws = np.random.Generator
Set = tuple[Array, Index]

# Fractions of all rows, or of the rows of class 1.
UNIFORM, ONE_CLASS = (0.0, 0.05, 0.1, 0.2, 0.3), 0.25
ADULT_ROWS = 3000
MOST_CLEAN, NEAR, LESS_PRECISE, RECALLED = 0.02, 0.02, 0.02, 0.9


def from_sklearn(name: str) -> Callable[[], Set]:
    def load() -> Set:
        from sklearn import datasets

        found = getattr(datasets, f"load_{name}")()
        return found.data, found.target.astype(np.intp)

    return load


def heart() -> Set:
    with (REAL_DATA / "heart_cleveland.csv").open() as file:
        rows = [row for row in list(csv.reader(file))[1:] if "" not in row]
    cells = np.array(rows, np.float64)
    return cells[:, :-1], cells[:, -1].astype(np.intp)


def adult() -> Set:
    import pandas as pd

    table = pd.read_parquet(REAL_DATA / "adult" / "train.parquet").dropna()
    table = table.sample(ADULT_ROWS, random_state=0)
    columns = pd.get_dummies(table.drop(columns="income"), drop_first=True)
    return columns.to_numpy(np.float64), (table["income"] == ">50K").to_numpy(np.intp)


def overlapping() -> Set:
    """Four classes of 400, 300, 200 and 100 rows that overlap."""
    draws = np.random.default_rng(31)
    y = np.repeat(np.arange(4), (400, 300, 200, 100))
    return 1.3 * draws.standard_normal((4, 6))[y] + 1.5 * draws.standard_normal((1000, 6)), y


def survivors() -> Set:
    """Two classes of 890 rows that logistic regression tells apart four times of five."""
    draws = np.random.default_rng(32)
    sex, grade = draws.random(890) < 0.65, draws.integers(1, 4, 890)
    age, fare = draws.normal(30.0, 14.0, 890), np.exp(draws.normal(4.4 - grade, 0.7))
    margin = 2.6 - 2.6 * sex - 0.9 * (grade - 1) - 0.03 * (age - 30.0)
    y = draws.random(890) < 1.0 / (1.0 + np.exp(-margin))
    return np.column_stack([sex, grade == 1, grade == 2, age, fare]), y.astype(np.intp)


def of_margin(n: int, margin: Callable[[Array], Array]) -> Callable[[], Set]:
    def make() -> Set:
        draws = np.random.default_rng([33, n])
        columns = draws.standard_normal((n, 5))
        chances = 1.0 / (1.0 + np.exp(-margin(columns)))
        return columns, (draws.random(n) < chances).astype(np.intp)

    return make


PLANTED: dict[str, Callable[[], Set]] = {
    "breast cancer": from_sklearn("breast_cancer"),
    "iris": from_sklearn("iris"),
    "wine": from_sklearn("wine"),
    "digits": from_sklearn("digits"),
    "heart": heart,
    "adult": adult,
    "four that overlap": overlapping,
    "survivors": survivors,
}
REAL = {"heart": "heart_cleveland.csv", "adult": "adult"}
CLEAN: dict[str, Callable[[Array], Array]] = {
    "no signal": lambda X: 0.0 * X[:, 0],
    "weak signal": lambda X: 0.5 * X[:, 0],
    "logistic": lambda X: 1.5 * X[:, 0] - X[:, 1],
    "rare class": lambda X: 0.8 * X[:, 0] - 3.0,
    "product": lambda X: 2.0 * X[:, 0] * X[:, 1],
    "square": lambda X: 2.0 * X[:, 0] ** 2 - 2.0,
}


def planted(seeds: range, names: list[str]) -> Iterator[Row]:
    """What is found of flipped labels."""
    for name in names:
        if name in REAL and is_missing(REAL[name]):
            continue
        X, y = PLANTED[name]()
        A = standardise(X)
        cases = [*((share, False) for share in UNIFORM), (ONE_CLASS, True)]
        for share, of_one in cases:
            few = seeds if share and name != "digits" else seeds[:1]
            yield _planted_row(name, A, y, share, few, of_one=of_one)


def _planted_row(name: str, A: Array, y: Index, share: float, seeds: range, *, of_one: bool) -> Row:
    figures = []
    for seed in seeds:
        labels, wrong = flip(y, share, np.random.default_rng([seed, 41]), of_one=of_one)
        found = judge(A, labels)
        theirs = peer(A, labels, wrong)
        figures.append(
            [
                found.fraction,
                found.flags.mean(),
                *quality(found.flags, found.scores, wrong),
                *theirs,
            ]
        )
    fraction, flagged, precision, recall, ap, *other = np.mean(figures, axis=0).tolist()
    within = abs(fraction - flagged) <= NEAR
    if not share:
        within &= flagged <= MOST_CLEAN
    elif other:
        within &= precision >= other[0] - LESS_PRECISE and recall >= RECALLED * other[1]
    case = f"{share:g} of class 1" if of_one else f"{share:g}"
    return {
        "set": name, "flipped": case, "fraction": fraction, "flagged": flagged,
        **dict(zip(("precision", "recall", "ap"), (precision, recall, ap), strict=True)),
        **dict(zip(("their precision", "their recall", "their ap"), other, strict=False)),
        "within": bool(within),
    }  # fmt: skip


def clean(n_seeds: int) -> Iterator[Row]:
    """What is called wrong of small tables where nothing is."""
    for n in (60, 200, 1000):
        for name, margin in CLEAN.items():
            flagged = []
            for seed in range(n_seeds):
                X, y = of_margin(1000 * seed + n, margin)()
                X, y = X[:n], y[:n]
                if min(y.sum(), n - y.sum()) > 3:
                    flagged.append(float(judge(standardise(X), y).flags.mean()))
            share = float(np.mean(flagged))
            yield {
                "set": f"{name}, {n} rows", "flipped": "0", "fraction": share, "flagged": share,
                "within": share <= MOST_CLEAN,
            }  # fmt: skip


def flip(y: Index, share: float, draws: Draws, *, of_one: bool) -> tuple[Index, Flags]:
    """Labels with some of them flipped, and which; of class 1 only, to the next one, or of all."""
    labels, n_classes = y.copy(), int(y.max()) + 1
    among = np.flatnonzero(y == 1) if of_one else np.arange(len(y))
    at = draws.permutation(among)[: round(share * len(among))]
    steps = 1 if of_one else draws.integers(1, n_classes, len(at))
    labels[at] = (y[at] + steps) % n_classes
    wrong = np.zeros(len(y), np.bool_)
    wrong[at] = True
    return labels, wrong


def judge(A: Array, y: Index) -> LabelJudgement:
    loss = make_loss("logistic", int(y.max()) + 1)
    targets = loss.targets(y.astype(np.int32))
    with one_thread():
        found = find_inlier_weights(DenseRows(A), targets, loss, constant=True).labels
    assert found is not None
    return found


def peer(A: Array, y: Index, wrong: Flags) -> list[float]:
    """cleanlab's figures; none where it is not installed."""
    try:
        from cleanlab.filter import find_label_issues
    except ImportError:
        return []
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(max_iter=300)
        p = cross_val_predict(model, A[:, :-1], y, cv=folds, method="predict_proba")
        flags = find_label_issues(y, p, n_jobs=1)
    return quality(flags, 1.0 - p[np.arange(len(y)), y], wrong)


def quality(flags: Flags, scores: Array, wrong: Flags) -> list[float]:
    """Precision and recall of the flags, average precision of the ranking."""
    from sklearn.metrics import average_precision_score

    hits = float((flags & wrong).sum())
    ap = float(average_precision_score(wrong, scores)) if wrong.any() else 0.0
    return [hits / max(float(flags.sum()), 1.0), hits / max(float(wrong.sum()), 1.0), ap]


def standardise(X: Array) -> Array:
    """Columns of mean 0 and deviation 1, those that vary, and a constant."""
    deviations = X.std(axis=0)
    varies = deviations > 0.0
    columns = (X[:, varies] - X[:, varies].mean(axis=0)) / deviations[varies]
    return np.ascontiguousarray(np.column_stack([columns, np.ones(len(X))]))


def main() -> None:
    options = make_parser(__doc__, quick="one seed and three sets").parse_args()
    benchmark = start("reliability/labels", options)
    seeds, names = (range(1), list(PLANTED)[:3]) if options.quick else (range(5), list(PLANTED))
    rows = list(planted(seeds, names))
    # Clean tables have no wrong labels that could be found.
    rows += [dict.fromkeys(rows[0]) | row for row in clean(3 if options.quick else 20)]
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
