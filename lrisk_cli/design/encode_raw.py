"""Raw rows of a table -> rows of X, in the memory of the raw numbers."""

import numpy as np

from lrisk_cli.design.collected import block_rows
from lrisk_cli.design.encoding import Encoding, unseen_cell
from lrisk_cli.design.filling import Filler
from lrisk_cli.design.raw_rows import RawRows
from lrisk_cli.names import Unseen
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Codes


def encode_raw(label: str, raw: RawRows, encoding: Encoding) -> Rows:
    """Standardised numbers in place of the raw ones, codes instead of the texts, which are let go.

    label: names the table in messages.
    """
    positions = _positions(label, raw, encoding)
    layout = encoding.layout
    filler = Filler(encoding.features, layout, intercept=encoding.intercept)
    n_rows, narrow, wide = len(raw.rows), raw.n_numbers, filler.width
    raw.buffer.resize(n_rows * wide)
    flat = raw.buffer.view()
    D = flat[: n_rows * wide].reshape(n_rows, wide)
    step = block_rows(wide)
    codes = filler.empty_codes(n_rows if layout.as_codes else min(step, n_rows))
    # From the last rows to the first: wide rows only overwrite narrow ones already copied out.
    for start in reversed(range(0, n_rows, step)):
        stop = min(start + step, n_rows)
        numbers = flat[start * narrow : stop * narrow].reshape(stop - start, narrow).copy()
        block = codes[start:stop] if layout.as_codes else codes[: stop - start]
        filler.fill(numbers, [found[start:stop] for found in positions], D[start:stop], block)
    return filler.rows(D, codes)


def _positions(label: str, raw: RawRows, encoding: Encoding) -> list[Codes]:
    """Of each category feature the column of each row; the texts are let go one by one."""
    found = []
    for feature in encoding.categories:
        texts = raw.texts.pop(0)
        places = feature.positions(texts.values)
        unknown = np.append(places[:-1] < 0, False)
        if encoding.unseen is Unseen.ERROR and unknown.any():
            strange = unknown[texts.codes]
            if strange.any():
                row = int(np.argmax(strange))
                text = texts.values[texts.codes[row]]
                raise unseen_cell(label, feature.name, int(raw.rows[row]), text)
        # Wrapped, code -1 finds the missing cell at the end.
        found.append(np.take(places, texts.codes, mode="wrap"))
    return found
