"""Unit rows, principal components and their scales, as scikit-learn makes them."""

import msgspec
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler, normalize

from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.features.features import FeatureOptions, build_features, check_features
from lrisk_cli.features.registry import FeatureMapEntry
from lrisk_cli.names import KernelName, RowNorm
from lrisk_cli.rows.dense import DenseRows

RNG = np.random.default_rng(6)
X = RNG.standard_normal((300, 12)) @ np.diag(np.logspace(0, -2, 12)) @ RNG.standard_normal((12, 12))
ROWS = DenseRows(np.column_stack([X + 0.3, np.ones(300)]))
UNIT = RowNorm.UNIT


def values(features) -> np.ndarray:
    return features.phi.dense_rows(slice(0, 300))


@pytest.mark.parametrize("fraction", [0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("norm", RowNorm)
def test_the_pipeline_is_that_of_scikit_learn(norm, fraction):
    found = build_features(ROWS, FeatureOptions(row_norm=norm, pca=fraction), constant=True)
    u = normalize(X + 0.3) if norm is UNIT else X + 0.3
    pca = PCA(None if fraction == 1.0 else fraction, svd_solver="full").fit(u)
    wanted = StandardScaler().fit_transform(pca.transform(u))
    got = values(found)[:, :-1]
    assert got.shape == wanted.shape
    signs = np.sign((got * wanted).sum(axis=0))
    np.testing.assert_allclose(got * signs, wanted, atol=1e-6)
    assert found.map.explained == pytest.approx(pca.explained_variance_ratio_.sum())
    assert (values(found)[:, -1] == 1.0).all()


def test_unit_rows_without_components_are_standardised():
    found = build_features(ROWS, FeatureOptions(row_norm=UNIT), constant=True)
    wanted = StandardScaler().fit_transform(normalize(X + 0.3))
    np.testing.assert_allclose(values(found)[:, :-1], wanted, atol=1e-9)


def test_a_row_has_the_same_values_in_any_batch_and_after_a_trip_through_a_file():
    options = FeatureOptions(row_norm=UNIT, pca=0.95)
    found = build_features(ROWS, options, constant=True)
    W = RNG.standard_normal((values(found).shape[1], 2))
    again = msgspec.json.decode(msgspec.json.encode(found.map.entry()), type=FeatureMapEntry).map()
    whole = found.map.margins(ROWS, W)
    np.testing.assert_array_equal(again.margins(ROWS, W), whole)
    np.testing.assert_array_equal(again.margins(ROWS.take(slice(7, 9)), W), whole[7:9])
    np.testing.assert_allclose(found.phi.scores(W), whole, rtol=1e-12, atol=1e-12)
    assert (again.summary(), again.describe()) == (found.map.summary(), found.map.describe())


def test_rows_of_zeros_and_of_huge_numbers_stay_finite():
    wild = np.array([[0.0, 0.0], [1e200, -1e200], [1e-200, 0.0], [3.0, 4.0]])
    found = build_features(DenseRows(wild), FeatureOptions(row_norm=UNIT), constant=False)
    assert np.isfinite(found.phi.dense_rows(slice(0, 4))).all()


def test_rows_that_are_alike_have_no_components():
    with pytest.raises(DataError, match="no principal components; leave out pca"):
        build_features(DenseRows(np.ones((5, 3))), FeatureOptions(pca=0.9), constant=False)


@pytest.mark.parametrize(("options", "sentence"), [
    (FeatureOptions(KernelName.RBF, pca=0.9), "pca is for linear models; leave out kernel='rbf'"),
    (FeatureOptions(KernelName.RBF, row_norm=UNIT), "row_norm is for linear models"),
    (FeatureOptions(pca=1.5), r"pca must be in \(0, 1\]; got 1.5"),
])  # fmt: skip
def test_impossible_wishes_get_a_sentence(options, sentence):
    with pytest.raises(UsageError, match=sentence):
        check_features(options)


def test_a_file_with_parts_of_different_lengths_is_refused():
    found = build_features(ROWS, FeatureOptions(pca=0.9), constant=True)
    entry = msgspec.structs.replace(found.map.entry(), mean=[0.0, 1.0])
    with pytest.raises(ValueError, match="differ in length"):
        entry.map()
