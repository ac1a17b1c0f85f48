"""Calls refuse impossible options before any work, and name them by their keywords."""

import pytest

from lrisk_cli.api.detect_options import RankedBy
from lrisk_cli.api.detect_options import make_job as detection_job
from lrisk_cli.api.fit_options import make_job as fit_job
from lrisk_cli.api.pages import PageOptions, parse_page
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import InvalidOption
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.validation import Validation
from lrisk_cli.features.options import Embedding, KernelOptions
from lrisk_cli.models.options import FitOutput, ModelOptions, Penalty, RowLoss
from lrisk_cli.names import KernelName
from lrisk_cli.outliers.options import Detection, DetectionOutput
from lrisk_cli.solvers.options import Solver, Stopping
from lrisk_cli.tables.options import Data

DATA = Data(data=("absent.csv",))


def make_fit(model: ModelOptions = ModelOptions(), validation: Validation = Validation()):  # noqa: B008
    return fit_job(
        DATA, Columns(target="y"), model, KernelOptions(), Embedding(), validation, FitOutput(),
        Stopping(), Solver(), seed=3, html=None,
    )  # fmt: skip


def test_risks_and_penalties_become_candidates_in_their_order():
    model = ModelOptions(risk=("mean", "extremile:2"), l2=("0.1,1",))
    job = make_fit(model, Validation(cv=4))
    assert [(str(fit.risk), fit.l2) for fit in job.fits] == [
        ("mean", 0.1), ("mean", 1.0), ("extremile:2", 0.1), ("extremile:2", 1.0),
    ]  # fmt: skip
    assert job.scheme is not None
    assert (job.scheme.n_folds, job.scheme.seed, job.scheme.metric) == (4, 3, "extremile:2")


@pytest.mark.parametrize(
    ("model", "validation", "sentence"),
    [
        ({"l2": ("0.1,1",)}, {}, "l2: several penalties need cv to choose one of them; add cv=5"),
        ({}, {"select_by": "mae"}, "select_by has no meaning without folds to choose by; add cv=5"),
        ({"risk": ("mean,mean",)}, {}, "risk='mean' is named twice; name it once"),
    ],
)
def test_a_fit_names_its_options_by_keywords(model, validation, sentence):
    with pytest.raises(InvalidOption, match=sentence):
        make_fit(ModelOptions(**model), Validation(**validation))


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ("8", "image_shape takes HEIGHTxWIDTH, such as 28x28; got '8'"),
        ("0x5", "image_shape='0x5': pictures have between 1 and 30,000 pixels"),
        ("900x900", "image_shape='900x900': pictures have"),
    ],
)
def test_impossible_pictures_are_refused(shape, sentence):
    with pytest.raises(InvalidOption, match=sentence):
        parse_page("page.html", shape)


def test_pictures_need_a_page():
    assert parse_page(None, None) is None
    assert parse_page("page.html", "8X4") == PageOptions("page.html", (8, 4))
    with pytest.raises(InvalidOption, match="image_shape is for pages; add html='FILE'"):
        parse_page(None, "8x8")


@pytest.mark.parametrize(
    ("columns", "detection", "kernel", "sentence"),
    [
        ({}, {}, {"kernel": KernelName.RBF}, "kernel is for a fit of a target, and none is named"),
        ({"intercept": False}, {}, {}, "intercept=False is for a fit of a target, and none"),
        ({"target": "y"}, {"clusters": "3"}, {}, "clusters is for tables without a target"),
        ({"exclude": "a"}, {"model": "m"}, {}, "exclude is for a fit, and model names one that"),
    ],
)
def test_idle_options_of_a_detection_are_refused(columns, detection, kernel, sentence):
    by = RankedBy(
        Columns(**columns), Detection(**detection), RowLoss(), Penalty(), KernelOptions(**kernel), 0
    )
    with pytest.raises(InvalidOption, match=sentence):
        detection_job(DATA, by, Gates(), DetectionOutput(), html=None)
