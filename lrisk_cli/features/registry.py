"""The kernels by name, and the entries of their maps in model files."""

from lrisk_cli.features import gaussian, linear, polynomial
from lrisk_cli.features.embedding import EmbeddingEntry
from lrisk_cli.features.fourier import FourierEntry
from lrisk_cli.features.gaussian import GaussianEntry
from lrisk_cli.features.linear import LinearEntry
from lrisk_cli.features.maps import KernelSpec
from lrisk_cli.features.polynomial import PolynomialEntry
from lrisk_cli.names import KernelName

KERNELS: dict[KernelName, KernelSpec] = {
    KernelName.LINEAR: linear.SPEC,
    KernelName.POLY: polynomial.SPEC,
    KernelName.RBF: gaussian.SPEC,
}
FeatureMapEntry = LinearEntry | GaussianEntry | PolynomialEntry | FourierEntry | EmbeddingEntry
