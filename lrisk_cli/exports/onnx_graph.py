"""A model of any kind -> an ONNX graph in double precision.

Inputs are the columns of the model, (rows, 1) each: numbers as doubles, NaN where missing; texts as
strings, empty where missing; dates as doubles, days since 1970. A row that `predict` would refuse
has NaN, or the class of the largest margin beside NaN probabilities.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lrisk_cli.clusters.scatter import Shape
from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.encoding import Encoding
from lrisk_cli.errors import InvalidOption, UsageError
from lrisk_cli.exports.linear import constant_of, fills, parts_of
from lrisk_cli.features.embedding import EmbeddingMap
from lrisk_cli.features.fourier import FourierMap
from lrisk_cli.features.gaussian import GaussianKernel
from lrisk_cli.features.linear import LinearMap
from lrisk_cli.features.maps import LandmarkMap
from lrisk_cli.features.polynomial import PolynomialKernel
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.model import Model
from lrisk_cli.names import RowNorm, TargetScale, Unseen
from lrisk_cli.types import Array

OPSET, ML_OPSET = 17, 3
NAN = float("nan")


class Graph:
    """Nodes and constants of a graph that grows."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node; the name of its output."""
        from onnx import helper

        name = f"n{len(self.nodes)}"
        made = helper.make_node(kind, list(inputs), [name], domain=domain, **attributes)
        self.nodes.append(made)
        return name

    def constant(self, values: Any, kind: Any = np.float64) -> str:
        """Add a constant; its name."""
        from onnx import helper, numpy_helper

        name = f"c{len(self.constants)}"
        if kind is str:
            texts = [each.encode() for each in values]
            tensor = helper.make_tensor(name, _types().STRING, [len(texts)], texts)
        else:
            tensor = numpy_helper.from_array(np.asarray(values, dtype=kind), name)
        self.constants.append(tensor)
        return name

    def input(self, name: str, kind: int) -> str:
        """Add an input of one column."""
        from onnx import helper

        self.inputs.append(helper.make_tensor_value_info(name, kind, ["rows", 1]))
        return name

    def output(self, name: str, node: str, kind: int, shape: list[Any]) -> None:
        """Give a node the name of an output."""
        from onnx import helper

        self.nodes.append(helper.make_node("Identity", [node], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def double(self, node: str) -> str:
        """Any numbers or flags as doubles."""
        return self.op("Cast", node, to=_types().DOUBLE)

    def model(self, description: str) -> bytes:
        """The file."""
        from onnx import checker, helper

        graph = helper.make_graph(self.nodes, "lrisk", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        made = helper.make_model(
            graph, opset_imports=opsets, producer_name="lrisk", doc_string=description
        )
        made.ir_version = 8
        checker.check_model(made)
        serialized: bytes = made.SerializeToString()
        return serialized


def to_onnx(path: str, model: Model | ClusterModel) -> bytes:
    """The file. path: of the model, for messages."""
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise UsageError("ONNX needs a package: pip install 'lrisk-cli[onnx]'") from error
    graph = Graph()
    x, bad = _encoded(path, graph, model.encoding, filled=fills(model))
    if isinstance(model, ClusterModel):
        _place(graph, model, x, bad)
        return graph.model(f"{len(model.centres)} clusters by {model.risk}")
    z = _with_constant(graph, model, _values(graph, model, x))
    z = graph.op("Add", _calibrated(path, graph, model, z), bad)
    (_classes if model.target.classes else _number)(graph, model, z)
    return graph.model(f"{model.target.name} by {model.risk}")


def _types() -> Any:
    from onnx import TensorProto

    return TensorProto


def _encoded(path: str, graph: Graph, encoding: Encoding, *, filled: bool) -> tuple[str, str]:
    """Encoded rows without the constant, (rows, columns), and NaN or 0 for each row. (rows, 1)."""
    parts, bad = [], []
    for feature in encoding.features:
        if isinstance(feature, CategoryFeature):
            some, strange = _category(graph, feature, encoding, filled=filled)
            parts.append(some)
            bad += strange
        elif isinstance(feature, NumberFeature):
            if parts_of(feature):
                raise InvalidOption(
                    "to",
                    f"cannot spell the months, weekdays or times of '{feature.name}' of {path}; "
                    "fit with dates as numbers, or pass sql or python",
                    "onnx",
                )
            parts += _number_column(graph, feature, filled=filled)
    x = graph.op("Concat", *parts, axis=1)
    if not bad:
        first = graph.op("Slice", x, *(graph.constant([n], np.int64) for n in (0, 1, 1)))
        return x, graph.op("Mul", _finite(graph, first), graph.constant([0.0]))
    total = bad[0]
    for each in bad[1:]:
        total = graph.op("Add", total, each)
    is_bad = graph.op("Greater", total, graph.constant([0.5]))
    return x, graph.op("Where", is_bad, graph.constant([NAN]), graph.constant([0.0]))


def _finite(graph: Graph, node: str) -> str:
    return graph.op("Where", graph.op("IsNaN", node), graph.constant([0.0]), node)


def _number_column(graph: Graph, feature: NumberFeature, *, filled: bool) -> list[str]:
    cells = graph.input(feature.name, _types().DOUBLE)
    absent = graph.op("IsNaN", cells)
    known = cells
    if filled and feature.fill is not None:
        known = graph.op("Where", absent, graph.constant([float(feature.fill)]), cells)
    moved = graph.op("Sub", known, graph.constant([feature.mean]))
    scaled = graph.op("Div", moved, graph.constant([feature.scale]))
    return [scaled, *([graph.double(absent)] if feature.indicator else [])]


def _category(
    graph: Graph, feature: CategoryFeature, encoding: Encoding, *, filled: bool
) -> tuple[str, list[str]]:
    """The columns of a feature, and how often a cell cannot be used. (rows, 1) each."""
    cells = graph.input(feature.name, _types().STRING)
    known = [*feature.categories, ""]
    flags = graph.op("LabelEncoder", cells, domain="ai.onnx.ml", keys_strings=known,
                     values_int64s=list(range(len(known))), default_int64=len(known))  # fmt: skip
    columns = np.zeros((len(known) + 1, feature.n_columns))
    columns[np.arange(len(feature.categories)), np.arange(len(feature.categories))] = 1.0
    unusable = np.zeros(len(known) + 1)
    if filled and feature.fill is not None:
        columns[-2, feature.filled_position] = 1.0
        if feature.indicator:
            columns[-2, -1] = 1.0
    else:
        unusable[-2] = 1.0
    if feature.other:
        columns[-1, len(feature.categories)] = 1.0
    elif encoding.unseen is not Unseen.OTHER:
        unusable[-1] = 1.0
    flat = graph.op("Reshape", flags, graph.constant([-1], np.int64))
    bad = graph.op("Gather", graph.constant(unusable[:, None]), flat, axis=0)
    return graph.op("Gather", graph.constant(columns), flat, axis=0), [bad]


def _values(graph: Graph, model: Model, x: str) -> str:
    """What the coefficients multiply, the constant aside."""
    match model.feature_map:
        case LinearMap():
            return x
        case LandmarkMap(kernel=GaussianKernel(gamma=gamma), landmarks=Z):
            distances = _squares(graph, x, Z)
            return graph.op("Exp", graph.op("Mul", distances, graph.constant([-gamma])))
        case LandmarkMap(kernel=PolynomialKernel() as kernel, landmarks=Z):
            products = graph.op("MatMul", x, graph.constant(kernel.gamma * Z.T))
            base = graph.op("Add", products, graph.constant([kernel.coef0]))
            power = base
            for _ in range(kernel.degree - 1):
                power = graph.op("Mul", power, base)
            return power
        case FourierMap() as fourier:
            angles = graph.op("MatMul", x, graph.constant(fourier.frequencies.T))
            return graph.op("Cos", graph.op("Add", angles, graph.constant(fourier.phases)))
        case EmbeddingMap() as embedding:
            return _embedded(graph, embedding, x)
    raise InvalidOption("to", f"cannot spell {model.feature_map.describe()}", "onnx")


def _squares(graph: Graph, x: str, Z: Array) -> str:
    """Squared distances of rows to the rows of Z, by differences. (rows, len(Z))."""
    apart = graph.op("Unsqueeze", x, graph.constant([1], np.int64))
    differences = graph.op("Sub", apart, graph.constant(Z[np.newaxis]))
    squares = graph.op("Mul", differences, differences)
    axes = graph.constant([2], np.int64)
    return graph.op("ReduceSum", squares, axes, keepdims=0)


def _embedded(graph: Graph, embedding: EmbeddingMap, x: str) -> str:
    u = x
    if embedding.row_norm is RowNorm.UNIT:
        axes = graph.constant([1], np.int64)
        squares = graph.op("ReduceSum", graph.op("Mul", x, x), axes, keepdims=1)
        length = graph.op("Sqrt", squares)
        is_zero = graph.op("Equal", length, graph.constant([0.0]))
        u = graph.op("Div", x, graph.op("Where", is_zero, graph.constant([1.0]), length))
    u = graph.op("Sub", u, graph.constant(embedding.mean))
    if embedding.components is not None:
        u = graph.op("MatMul", u, graph.constant(embedding.components.T))
    return graph.op("Div", u, graph.constant(embedding.scale))


def _with_constant(graph: Graph, model: Model, values: str) -> str:
    """The margins. (rows, outputs)."""
    W, intercept = model.coefficients, model.encoding.intercept
    slopes = W[:-1] if intercept else W
    if isinstance(model.feature_map, FourierMap):
        # Not as a product with a number: onnxruntime would round it to a float.
        slopes = np.sqrt(2.0 / len(slopes)) * slopes
    z = graph.op("MatMul", values, graph.constant(slopes))
    return graph.op("Add", z, graph.constant(constant_of(model)))


def _calibrated(path: str, graph: Graph, model: Model, z: str) -> str:
    record = model.calibration
    if record is None:
        return z
    if record.slope is None:
        raise InvalidOption(
            "to",
            f"cannot spell the isotonic calibration of {path}; calibrate by platt, or pass python",
            "onnx",
        )
    steep = graph.op("Mul", z, graph.constant([record.slope]))
    return graph.op("Add", steep, graph.constant(list(record.intercepts)))


def _number(graph: Graph, model: Model, z: str) -> None:
    target = model.target
    units = graph.op("Mul", z, graph.constant([target.scale]))
    units = graph.op("Add", units, graph.constant([target.mean]))
    kind, shape = _types().DOUBLE, ["rows", 1]
    if model.row_loss.log_link:
        found = graph.op("Exp", units)
        if model.encoding.exposure is not None:
            exposure = graph.input(model.encoding.exposure, kind)
            found = graph.op("Mul", found, exposure)
        graph.output("prediction", found, kind, shape)
        return
    if target.on is TargetScale.NONE:
        graph.output("prediction", units, kind, shape)
        return
    power = graph.op("Exp", units)
    shift = graph.constant([1.0 if target.on is TargetScale.LOG1P else 0.0])
    graph.output("prediction", graph.op("Sub", power, shift), kind, shape)
    if model.smearing is not None:
        mean = graph.op("Mul", power, graph.constant([model.smearing]))
        graph.output("prediction_mean", graph.op("Sub", mean, shift), kind, shape)


def _classes(graph: Graph, model: Model, z: str) -> None:
    classes = model.target.classes
    if len(classes) == 2:
        # A margin of 0 for the first class: its softmax is the logistic function.
        z = graph.op("Concat", graph.op("Mul", z, graph.constant([0.0])), z, axis=1)
    chances = graph.op("Softmax", z, axis=1)
    best = graph.op("ArgMax", z, axis=1, keepdims=0)
    labels = graph.op("Gather", graph.constant(classes, str), best, axis=0)
    graph.output("prediction", labels, _types().STRING, ["rows"])
    graph.output("probabilities", chances, _types().DOUBLE, ["rows", len(classes)])


def _place(graph: Graph, model: ClusterModel, x: str, bad: str) -> None:
    """The nearest cluster, the distance to it, and whether that makes the row an outlier."""
    squares = _squares(graph, x, model.encoded_centres)
    if model.scatters is not None:
        squares = graph.op("Concat", *_mahalanobis(graph, model, x), axis=1)
    best = graph.op("ArgMin", squares, axis=1, keepdims=0)
    least = graph.op("ReduceMin", squares, axes=[1], keepdims=1)
    distance = graph.op("Add", graph.op("Sqrt", least), bad)
    limit = graph.constant([np.inf if model.outlier_distance is None else model.outlier_distance])
    outlier = graph.op("Cast", graph.op("Greater", distance, limit), to=_types().INT64)
    graph.output("cluster", best, _types().INT64, ["rows"])
    graph.output("distance", distance, _types().DOUBLE, ["rows", 1])
    graph.output("is_outlier", outlier, _types().INT64, ["rows", 1])


def _mahalanobis(graph: Graph, model: ClusterModel, x: str) -> Sequence[str]:
    """Squared distances to each cluster by its scatter. (rows, 1) each."""
    scatters: Any = model.scatters
    found, axes = [], graph.constant([1], np.int64)
    for centre, scatter in zip(model.encoded_centres, scatters, strict=True):
        V = Shape(centre, scatter).whitener
        white = graph.op("MatMul", graph.op("Sub", x, graph.constant(centre)), graph.constant(V))
        squares = graph.op("Mul", white, white)
        found.append(graph.op("ReduceSum", squares, axes, keepdims=1))
    return found
