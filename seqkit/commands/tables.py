"""Tables of text in aligned columns."""

from collections.abc import Sequence

from seqkit.foundation.wording import columns_of


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with as many cells each as lines, every column as wide as its widest cell."""
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - columns_of(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
