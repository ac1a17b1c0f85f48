"""Tables 1 to 3 of the subquantile paper: every method on 24 kinds of corrupted tables.

And what Section 6 says of the rows with the highest error: that they are the outliers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import ttest_rel

from benchmarks.common.claims import Case, Chapter, Claim, Says, judge
from benchmarks.common.corrupted import CLASSES
from benchmarks.common.pool import run_units
from benchmarks.papers.subquantile.rows import ALGORITHM_3, GENIE, ROWS, estimated_fraction
from benchmarks.papers.subquantile.setups import make_setup
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.names import KernelName
from lrisk_cli.reports.html import Table
from lrisk_cli.types import Array

SIGNIFICANT = 0.05
KERNELS = {1: KernelName.RBF, 2: KernelName.LINEAR, 3: KernelName.RBF}
TITLES = {
    1: "Gaussian kernel (drug: polynomial), label noise: test RMSE in deviations of the target",
    2: "linear, eps = 0.2: test RMSE in standard deviations of the target",
    3: "Gaussian kernel, two classes: test accuracy",
}
META = ("sever", "term")
LINEAR_ONLY = ("ransac", "crr", "stir")
COMPETITIVE, FAR_WORSE = 1.1, 1.5
# Of the corrupted rows that the errors of the genie find.
NEARLY_ALL, TOO_FEW = 0.95, 0.8


@dataclass(frozen=True)
class Column:
    """A column of one of the tables, and what it prints: mean and deviation, by row."""

    table: int
    data: str
    corruption: str
    printed: dict[str, tuple[float, float]]

    @property
    def name(self) -> str:
        """ "boston, label:0.2"."""
        return f"{self.data}, {self.corruption}"

    @property
    def kernel(self) -> KernelName:
        """The polynomial one in the last experiment of Table 1, the drug set."""
        last = (self.table, self.data) == (1, "drug")
        return KernelName.POLY if last else KERNELS[self.table]

    @property
    def sign(self) -> float:
        """1 where small is good."""
        return -1.0 if self.data in CLASSES else 1.0


def _columns(table: int, names: Sequence[str], printed: dict[str, str]) -> list[Column]:
    """printed: by row "mean deviation" for each column, a dash for none."""
    found = []
    for k, name in enumerate(names):
        data, _, corruption = name.partition(" ")
        values = {}
        for row, text in printed.items():
            parts = text.split()[k].split("/")
            if parts[0] != "-":
                values[row] = (float(parts[0]), float(parts[1]))
        found.append(Column(table, data, corruption, values))
    return found


COLUMNS = [
    *_columns(1, [f"{data} label:{eps}" for data in ("concrete", "wine", "boston", "drug")
                  for eps in (0.2, 0.4)], {
        "erm": "1.355/.0934 2.282/.2063 1.437/.0979 2.272/.1088 1.285/.0896 2.266/.0686 "
               "1.478/.0533 2.381/.0203",
        "term": "0.829/.0422 0.928/.0197 1.854/.7437 1.069/.1001 0.879/.0178 0.875/.0711 - -",
        "sever": "0.533/.0347 0.592/.0548 0.915/.0343 0.841/.0413 0.526/.0287 0.720/.1147 "
                 "1.172/.0542 1.215/.0536",
        ALGORITHM_3: "0.519/.0134 0.547/.0174 0.808/.0389 0.827/.0216 0.468/.0896 0.458/.0662 "
                     "1.280/.0568 1.372/.0294",
    }),
    *_columns(2, [f"{data} {kind}:0.2" for data in ("boston", "wine", "concrete", "drug")
                  for kind in ("label", "label+feature")], {
        "erm": "0.907/.2724 90.799/5.717 0.894/.0404 62.913/7.4959 0.747/.0465 77.383/5.5692 "
               "2.679/.1286 141.69/3.5297",
        "ransac": "1.167/.671 22.46/19.1987 1.489/.273 39.63/13.0294 0.870/.2308 23.629/16.1023 "
                  "2.801/.2004 117.389/8.3915",
        "crr": "0.636/.0905 88.626/5.738 0.818/.0224 58.488/3.5612 0.710/.0919 73.932/4.7867 "
               "1.887/.1463 152.827/6.6038",
        "stir": "0.562/.0626 78.878/8.0164 0.828/.0293 58.352/4.67 0.684/.0245 76.555/4.5927 "
                "1.721/.152 144.975/5.4953",
        "sever": "0.601/.0979 5.98/8.2603 0.814/.0207 9.065/13.7632 0.684/.0438 4.119/8.2436 "
                 "1.469/.1162 156.043/4.5543",
        "term": "0.608/.1357 0.569/.062 0.840/.0563 0.827/.0255 0.830/.0934 0.808/.0726 "
                "1.185/.1077 1.147/.1258",
        ALGORITHM_3: "0.503/.047 0.560/.0373 0.813/.0357 0.821/.0305 0.757/.1174 0.630/.0269 "
                     "1.244/.1091 2.413/.6737",
        GENIE: "0.630/.1015 0.665/.1134 0.838/.013 0.865/.0222 0.763/.039 0.768/.0181 "
               "0.988/.0823 0.985/.0838",
    }),
    *_columns(3, [f"{data} {kind}:{eps}" for data in ("heart", "breast")
                  for kind in ("flip", "label+feature") for eps in (0.2, 0.4)], {
        "svm": "0.826/.0482 0.625/.0475 0.549/.0763 0.513/.0344 0.940/.014 0.781/.0496 "
               "0.651/.037 0.633/.0428",
        "sever": "0.728/.1134 0.531/.0321 0.807/.0557 0.677/.1552 0.918/.0439 0.575/.1456 "
                 "0.954/.0146 0.809/.0947",
        "term": "0.790/.042 0.610/.0667 0.816/.0485 0.607/.1318 0.937/.0151 0.793/.0691 "
                "0.972/.0151 0.973/.019",
        ALGORITHM_3: "0.846/.0382 0.597/.0794 0.830/.0471 0.516/.0623 0.956/.0055 0.785/.1059 "
                     "0.955/.0159 0.823/.1445",
    }),
]  # fmt: skip

Measured = dict[str, Array]


@dataclass(frozen=True, slots=True)
class Trial:
    """One split. errors: on the test rows; spotted: fraction of corrupted rows among as many with
    the highest error as are corrupted, both by method. fraction: of outliers, as estimated.
    """

    errors: dict[str, float]
    spotted: dict[str, float]
    fraction: float


@dataclass(frozen=True, slots=True)
class Results:
    """By column and method the figures of the seeds, which are paired; NaN where one failed."""

    errors: dict[str, Measured] = field(default_factory=dict)
    spotted: dict[str, Measured] = field(default_factory=dict)
    fractions: dict[str, Array] = field(default_factory=dict)


def trial(column: Column, seed: int, work: float) -> Trial:
    """Every method on one split; methods that cannot be fitted are left out."""
    setup = make_setup(column.data, column.corruption, column.kernel, seed, work)
    errors, spotted = {}, {}
    for name, row in ROWS.items():
        if column.table not in row.tables or not row.in_time(setup):
            continue
        try:
            fitted = row.fit(setup)
        except (DataError, UsageError):
            continue
        errors[name], spotted[name] = setup.error(*fitted), setup.spotted(*fitted)
    return Trial(errors, spotted, estimated_fraction(setup))


def measure(columns: Sequence[Column], n_seeds: int, work: float) -> Results:
    """Every method on every column, with the seeds 0, 1, ..."""
    found = Results()
    for number in TITLES:
        own = [column for column in columns if column.table == number]
        units = [(column, seed, work) for column in own for seed in range(n_seeds)]
        # Long ones first, so that no process waits for the other at the end.
        units.sort(key=lambda unit: unit[0].data != "drug")
        results = run_units(f"Table {number}", trial, units)
        for (column, seed, _), each in zip(units, results, strict=True):
            key = _key(column)
            for of, values in ((found.errors, each.errors), (found.spotted, each.spotted)):
                for name, value in values.items():
                    by_method = of.setdefault(key, {})
                    by_method.setdefault(name, np.full(n_seeds, np.nan))[seed] = value
            found.fractions.setdefault(key, np.full(n_seeds, np.nan))[seed] = each.fraction
    return found


def _key(column: Column) -> str:
    return f"{column.table}: {column.name}"


def paired(
    column: Column, of: Measured, one: str, other: str, level: float = SIGNIFICANT
) -> tuple[Says, str]:
    """Whether one is better than the other on the same splits, by a paired t test."""
    if one not in of or other not in of:
        return Says.UNCLEAR, "not fitted"
    both = np.isfinite(of[one]) & np.isfinite(of[other])
    a, b = column.sign * of[one][both], column.sign * of[other][both]
    words = f"{abs(float(a.mean())):.3f} against {abs(float(b.mean())):.3f}"
    if len(a) < 3 or np.allclose(a, b):
        return Says.UNCLEAR, words
    p = float(ttest_rel(a, b).pvalue)
    clear, better = p < level, a.mean() < b.mean()
    words += f", p = {p:.1g}"
    return judge(agrees=clear and better, contradicts=clear and not better), words


def _cases(found: dict[str, Measured], columns: Sequence[Column], one: str,
           others: Sequence[str]) -> list[Case]:  # fmt: skip
    cases, level = [], SIGNIFICANT / max(1, len(columns) * len(others))
    for column in columns:
        for other in others:
            says, words = paired(column, found[_key(column)], one, other, level)
            cases.append(Case(f"{column.name}, {other}", says, words))
    return cases


def _ratio_cases(
    found: dict[str, Measured], columns: Sequence[Column], others: Sequence[str]
) -> list[Case]:
    """The mean error of Algorithm 3 over that of others."""
    cases = []
    for column in columns:
        of = found[_key(column)]
        for other in others:
            if other in of:
                mine, yours = (float(np.nanmean(of[name])) for name in (ALGORITHM_3, other))
                ratio = mine / yours
                says = judge(agrees=ratio <= COMPETITIVE, contradicts=ratio > FAR_WORSE)
                words = f"{mine:.3f}, {ratio:.2f} times {yours:.3f}"
                cases.append(Case(f"{column.name}, {other}", says, words))
    return cases


PAIRED = (
    f"agrees if its mean over the same splits is better (paired t test, p < {SIGNIFICANT} divided "
    "by the number of cases), contradicts if worse"
)


def chapters(columns: Sequence[Column], n_seeds: int, work: float) -> list[Chapter]:
    """A chapter for each table, and two for what is said of all of them."""
    found = measure(columns, n_seeds, work)
    made = [_table_chapter(number, columns, found.errors, n_seeds) for number in (1, 2, 3)]
    kernels = [column for column in columns if column.table != 2]
    words = "Subquantile is the strongest meta-algorithm across all kernelized regression and "
    claims = [
        Claim("1, 3", words + "classification tasks (SEVER and TERM are the others).", PAIRED,
              _cases(found.errors, kernels, ALGORITHM_3, META)),
        Claim("1, 3", "The same of the alternating minimiser of the same risk (not in the paper).",
              PAIRED, _cases(found.errors, kernels, "alternating", META)),
    ]  # fmt: skip
    lead = "Judged by the same splits and seeds for all methods."
    strongest = Chapter("Tables 1 and 3", "the strongest meta-algorithm", lead, [], claims)
    return [*made, strongest, _outlier_chapter(columns, found)]


def _outlier_chapter(columns: Sequence[Column], found: Results) -> Chapter:
    """Section 6: the rows with the highest error."""
    grids = []
    for number in TITLES:
        own = [column for column in columns if column.table == number]
        names = [name for name in ROWS if any(name in found.spotted[_key(c)] for c in own)]
        rows = [[name, *(_percent(found.spotted[_key(c)].get(name)) for c in own)]
                for name in names]  # fmt: skip
        rows.append(["estimated fraction", *(_percent(found.fractions[_key(c)]) for c in own)])
        heads = ["method", *(column.name for column in own)]
        grids.append(Table(f"Corrupted among the rows of highest error, %, Table {number}", heads,
                           rows))  # fmt: skip
    cases = []
    for column in columns:
        of = found.spotted[_key(column)]
        mine, best = (float(np.nanmean(of[name])) for name in (ALGORITHM_3, GENIE))
        says = judge(agrees=mine >= NEARLY_ALL * best, contradicts=mine < TOO_FEW * best)
        words = f"{100 * mine:.1f} % of them are corrupted, with the genie's fit {100 * best:.1f} %"
        cases.append(Case(f"Table {column.table}, {column.name}", says, words))
    claim = Claim(
        "Section 6",
        "Once training is finished, we can see the n(1-p) points with highest error to find the "
        "outliers.",
        f"agrees if of the eps n rows to learn from that lose most at least {NEARLY_ALL:g} times "
        f"as many are corrupted as with the fit to the clean rows, contradicts if fewer than "
        f"{TOO_FEW:g} times; means of the seeds",
        cases,
    )
    lead = (
        "Of the eps n rows with the highest error, after the fit, how many are corrupted; some "
        "corrupted targets lie near the right ones, and no fit can find them. Last, the fraction "
        "of outliers that the robust fit estimates, which is not told eps."
    )
    return Chapter("Section 6", "finding the outliers", lead, grids, [claim])


def _percent(values: Array | None) -> str:
    if values is None or not np.isfinite(values).any():
        return ""
    return f"{100.0 * float(np.nanmean(values)):.1f}"


def _table_chapter(
    number: int, columns: Sequence[Column], found: dict[str, Measured], n_seeds: int
) -> Chapter:
    own = [column for column in columns if column.table == number]
    names = [name for name in ROWS if any(name in found[_key(c)] for c in own)]
    rows = []
    for name in names:
        rows.append([name, ROWS[name].words, *(_cell(column, found, name) for column in own)])
        if any(name in column.printed for column in own):
            rows.append([f"{name}, printed", "the paper", *(_print(c, name) for c in own)])
    grid = Table(f"Table {number}", ["method", "", *(column.name for column in own)], rows, texts=2)
    reprinted = [_reprint_case(column, found) for column in own]
    claims = [
        Claim(str(number), "The figures of Subquantile as printed.",
              "agrees if our mean of Algorithm 3 lies within one printed deviation of the printed "
              "mean, contradicts if more than three away", reprinted),
    ]  # fmt: skip
    others = [name for name in own[0].printed if name not in (ALGORITHM_3, GENIE)] if own else []
    if number == 1:
        words = "In kernelized regression, Subquantile is the strongest of the meta-algorithms."
        claims.append(Claim("1", words, PAIRED, _cases(found, own, ALGORITHM_3, META)))
    if number == 2:
        words = "Subquantile is also the strongest algorithm in linear regression."
        claims.append(Claim("2", words, PAIRED, _cases(found, own, ALGORITHM_3, others)))
        words = (
            "Subquantile is competitive with algorithms developed solely for robust linear "
            "regression (RANSAC, CRR and STIR)."
        )
        rule = (
            f"agrees if its mean error is at most {COMPETITIVE:g} times the other's, contradicts "
            f"if more than {FAR_WORSE:g} times"
        )
        claims.append(Claim("2", words, rule, _ratio_cases(found, own, LINEAR_ONLY)))
    if number == 3:
        words = (
            "In binary classification, Subquantile is very strong (better than SVM, SEVER, TERM)."
        )
        claims.append(Claim("3", words, PAIRED, _cases(found, own, ALGORITHM_3, others)))
    lead = f"Means and standard deviations over {n_seeds} seeds, and what the paper prints."
    return Chapter(f"Table {number}", TITLES[number], lead, [grid], claims)


def _cell(column: Column, found: dict[str, Measured], name: str) -> str:
    values = found[_key(column)].get(name)
    if values is None or not np.isfinite(values).any():
        return ""
    values = values[np.isfinite(values)]
    spread = f" ({values.std(ddof=1):.3f})" if len(values) > 1 else ""
    return f"{values.mean():.3f}{spread}"


def _print(column: Column, name: str) -> str:
    printed = column.printed.get(name)
    return "" if printed is None else f"{printed[0]:.3f} ({printed[1]:.3f})"


def _reprint_case(column: Column, found: dict[str, Measured]) -> Case:
    mean, deviation = column.printed[ALGORITHM_3]
    ours = float(np.nanmean(found[_key(column)][ALGORITHM_3]))
    away = abs(ours - mean) / deviation
    says = judge(agrees=away <= 1.0, contradicts=away > 3.0)
    return Case(column.name, says, f"{ours:.3f}, printed {mean:.3f} ({deviation:.3f})")


def rows_of(found: Sequence[Chapter]) -> list[dict[str, object]]:
    """The cases of all claims as lines of the results."""
    return [dict(row) for chapter in found for claim in chapter.claims for row in claim.rows()]
