"""Write seeded random tables of ratings for the oracles of agreement coefficients.

python scripts/oracles/agreement_inputs.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

Table = list[list[int | float | None]]

# units, raters, categories, share of missing cells, weights, how much of the ratings the first category attracts
KINDS: tuple[tuple[int, int, tuple[int, ...], float, str, float], ...] = (
    (20, 2, (0, 1), 0.0, "identity", 0.5),
    (40, 2, (1, 2, 3), 0.1, "identity", 0.3),
    (60, 2, (0, 1), 0.0, "identity", 0.95),
    (30, 3, (1, 2, 3, 4, 5), 0.0, "quadratic", 0.2),
    (30, 3, (1, 2, 3, 4, 5), 0.3, "quadratic", 0.2),
    (25, 4, (1, 2, 3, 4), 0.2, "linear", 0.4),
    (25, 4, (1, 2, 4, 7), 0.2, "linear", 0.2),
    (50, 5, (1, 2, 3), 0.5, "identity", 0.6),
    (18, 6, (1, 2, 3, 4, 5, 6, 7), 0.4, "ordinal", 0.1),
    (80, 3, (0, 1), 0.2, "identity", 0.9),
    (15, 3, (1, 2, 3, 4, 5), 0.1, "identity", 0.8),
    (12, 4, (1, 3, 9), 0.0, "quadratic", 0.3),
)
TWO_RATERS = ((30, 2, 0.5), (45, 3, 0.4), (60, 4, 0.3), (25, 5, 0.6), (200, 3, 0.9))
INTRACLASS = ((6, 4, 1.0), (20, 3, 0.5), (12, 2, 3.0), (40, 5, 0.2), (8, 6, 0.05))


def rated(rng: np.random.Generator, units: int, raters: int, categories: tuple[int, ...], first: float) -> np.ndarray:
    """Return category places, shape (unit, rater): raters see the unit's own category two times in three."""
    q = len(categories)
    chance = np.full(q, (1.0 - first) / (q - 1))
    chance[0] = first
    truth = rng.choice(q, units, p=chance)
    noise = rng.choice(q, (units, raters), p=chance)
    return np.where(rng.random((units, raters)) < 0.65, truth[:, None], noise)


def categorical(rng: np.random.Generator, number: int) -> dict[str, Any]:
    """Return one table of categories with missing cells; every unit keeps a rating, every rater too."""
    units, raters, categories, missing, weights, first = KINDS[number]
    place = rated(rng, units, raters, categories, first)
    gone = rng.random((units, raters)) < missing
    gone[np.arange(units), rng.integers(0, raters, units)] = False
    table: Table = [
        [None if hidden else categories[at] for at, hidden in zip(row, lost, strict=True)]
        for row, lost in zip(place.tolist(), gone.tolist(), strict=True)
    ]
    return {"id": f"table-{number}", "ratings": table, "categories": list(categories), "weights": weights}


def main() -> None:
    """Write FOLDER/agreement_inputs.json."""
    rng = np.random.default_rng(20240607)
    tables = [categorical(rng, number) for number in range(len(KINDS))]
    pairs = []
    for number, (units, q, first) in enumerate(TWO_RATERS):
        place = rated(rng, units, 2, tuple(range(q)), first)
        cells = np.bincount(place[:, 0] * q + place[:, 1], minlength=q * q).reshape(q, q)
        pairs.append({"id": f"pair-{number}", "table": cells.tolist()})
    scales = []
    for number, (units, raters, spread) in enumerate(INTRACLASS):
        x = spread * rng.normal(size=(units, 1)) + 0.4 * rng.normal(size=(1, raters)) + rng.normal(size=(units, raters))
        scales.append({"id": f"scale-{number}", "ratings": np.round(5.0 + x, 2).tolist()})
    held = {"tables": tables, "pairs": pairs, "scales": scales}
    Path(sys.argv[1], "agreement_inputs.json").write_text(json.dumps(held))


if __name__ == "__main__":
    main()
