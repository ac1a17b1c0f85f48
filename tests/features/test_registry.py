"""The table of kernels: what each reads, what its maps write to a model file, and the manual."""

import subprocess
import sys
from typing import get_args

import msgspec
import numpy as np
import pytest

from helpers.docs import markdown_table
from lrisk_cli.errors import UsageError
from lrisk_cli.features.features import FeatureOptions, build_features, check_features
from lrisk_cli.features.registry import KERNELS, FeatureMapEntry
from lrisk_cli.names import FeatureMapName, KernelName
from lrisk_cli.rows.dense import DenseRows

GIVEN = {"gamma": 0.5, "degree": 2, "coef0": 1.5, "rank": 5}
EVERY_KERNEL = pytest.mark.parametrize("name", KERNELS)
WAYS = [
    (name, way)
    for name, spec in KERNELS.items()
    for way in (sorted(spec.feature_maps) if spec.make else [None])
]


def test_every_name_has_a_kernel_and_every_option_a_reader():
    assert set(KERNELS) == set(KernelName)
    assert frozenset().union(*(spec.options for spec in KERNELS.values())) == set(GIVEN)
    ways = frozenset().union(*(spec.feature_maps for spec in KERNELS.values()))
    assert ways == set(FeatureMapName)


@EVERY_KERNEL
@pytest.mark.parametrize("option", GIVEN)
def test_an_option_is_taken_by_its_readers_and_refused_by_others(name, option):
    options = FeatureOptions(name, **{option: GIVEN[option]})
    if option in KERNELS[name].options:
        check_features(options)
        return
    able = " and ".join(sorted(each for each in KERNELS if option in KERNELS[each].options))
    with pytest.raises(UsageError) as refusal:
        check_features(options)
    sentence = f"{option} is not used by kernel='{name}' (only by {able})"
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_a_map_is_repeated_by_what_it_writes_to_a_model_file(name, way):
    X = np.column_stack([np.random.default_rng(0).standard_normal((40, 3)), np.ones(40)])
    options = FeatureOptions(name, rank=None if way is None else 7, feature_map=way)
    found = build_features(DenseRows(X), options, constant=True)
    written = msgspec.json.encode(found.map.entry())
    again = msgspec.json.decode(written, type=FeatureMapEntry).map()
    W = np.random.default_rng(1).standard_normal((found.map.width(3) + 1, 2))
    rows = DenseRows(X)
    np.testing.assert_array_equal(again.margins(rows, W), found.map.margins(rows, W))
    assert again.summary() == found.map.summary()
    assert again.describe() == found.map.describe()


def test_every_kernel_and_way_has_its_own_entry():
    tags = {entry.__struct_config__.tag for entry in get_args(FeatureMapEntry)}
    assert tags == {*KERNELS, FeatureMapName.FOURIER, "embedding"}


def test_the_manual_lists_exactly_the_kernels_and_their_options():
    rows = markdown_table("docs/kernels.md", "kernel")
    assert {row[0] for row in rows} == {f"`--kernel {name}`" for name in KERNELS}
    for head, formula, options in rows:
        spec = KERNELS[KernelName(head.strip("`").removeprefix("--kernel "))]
        assert spec.summary in formula
        for option in ("gamma", "degree", "coef0"):
            assert (f"`--{option}`" in options) is (option in spec.options)


def test_features_of_the_columns_load_no_landmarks_and_no_scipy():
    program = (
        "import sys, numpy as np; from lrisk_cli.rows.dense import DenseRows\n"
        "from lrisk_cli.features.features import FeatureOptions, build_features\n"
        "build_features(DenseRows(np.ones((3, 2))), FeatureOptions(), constant=True)\n"
        "print(*sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert not loaded & {"scipy", "lrisk_cli.features.landmarks", "lrisk_cli.features.nystroem"}
