"""How often the intervals hold the truth: run the grid of simulations, write docs/coverage.md and docs/coverage.csv.

Finished cells are kept in a file of JSON lines; the same command, started again after it was stopped, goes on where it
was. Cells that were run from other source code are run anew (`--trust`: they are taken as they are).
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "coverage")]

from grid import (  # type: ignore[import-not-found]  # noqa: E402
    FEWEST_DISCORDANT,
    LEAST_SHARE_OF_PJ_CELLS,
    PJ_DRAWS,
    Cell,
    Result,
    cells,
    monte_carlo_limits,
    pj_share,
    promise_of,
    run,
    second_look,
    verdict,
)
from simulated_agreement import ALPHA_RESAMPLES  # type: ignore[import-not-found]  # noqa: E402
from simulated_groups import RESAMPLES  # type: ignore[import-not-found]  # noqa: E402

from calibrate.estimate import installed_version  # noqa: E402

Pairs = list[tuple[Cell, Result]]
SHOWN = 25

INTRODUCTION = f"""# How often the intervals hold the truth

`make coverage` draws data whose truth is known and counts how often 95 % limits hold it. A cell breaks its promise only
where the 99.9 % Monte-Carlo interval of its coverage lies wholly outside the promised band. Each cell's seed is in its
row; all cells are in [coverage.csv](coverage.csv). The simulations are in `tests/coverage/`; a dozen cells run with the
tests.

Audits: episodes of six criteria in four domains; *error* is the judge's rate a criterion, *lenient* overlooks failures
only, *strict* loses passes only; *icc* is the correlation within an episode of the user's failures and of the judge's
errors. *Unequal* strata: domains of 45, 30, 15 and 10 % whose UFS differ, weighted by their size, or all alike. PJ
takes {PJ_DRAWS} draws, the groups {RESAMPLES} resamples, α {ALPHA_RESAMPLES}.
"""

SECOND_LOOK = """## A second look

The rule lets a cell pass that chance may have put outside its band. All cells whose coverage lay outside by anything
were therefore drawn again, with another seed and many more trials; *outside* counts those of them whose 99.9 % interval
then lies wholly outside. The exit code of `make coverage` is that of the rule at the first look.

PJM for new tasks is a little short at UFS .95 with 300 tasks in four domains, and most plainly where all of them are
audited: for each domain of 75 tasks stands a Wilson limit, and four of those put together cover .922 of binomial
samples without any judge or audit (two domains of 150: .944; one of 300: .955). From 94 tasks a domain on it is .935.
"""

SECTIONS = {
    "PJM": "Audited UFS: limits (PJM). Promise: at least .93 in every cell",
    "PJ": (
        f"Audited UFS: draws (PJ). Promise: .93 to .97 in at least {LEAST_SHARE_OF_PJ_CELLS:.0%} of the cells with "
        f"{FEWEST_DISCORDANT:g} or more expected discordant episodes (a census of these episodes leaves nothing open)"
    ),
    "group ρ": "Spearman's ρ over 27 groups. Promises: .945–.965, .95–.985, .935–.96",
    "α": "α by bootstrap of units. No promise",
    "Rogan–Gladen": "A judged share corrected (Rogan–Gladen; Lang–Reiczigel and Lee et al.). No promise",
    "PPI++": "PPI++ mean of 0/1 verdicts. No promise: not used for shares near 0 or 1",
    "Wald": "Audited UFS by Wald. Rejected: what it would have covered",
    "products": "UFS as a power of the criteria's pass rate. Shown as what not to do",
}


def main() -> int:
    """Run what is missing, write the table; 1 where a promise is broken."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--cells", type=int, help="only so many cells, spread over the grid; the page is not written")
    asked.add_argument(
        "--kept", type=Path, default=ROOT / ".benchmarks" / "coverage-cells.jsonl", help="finished cells"
    )
    asked.add_argument("--trust", action="store_true", help="take finished cells though source code has changed since")
    asked.add_argument("--out", type=Path, default=ROOT / "docs" / "coverage.md", help="page to write")
    given = asked.parse_args()
    grid = cells()
    if given.cells:
        grid = grid[:: max(1, len(grid) // given.cells)][: given.cells]
    results = finish(grid, given.kept, trust=given.trust)
    pairs = [(cell, results[cell.name]) for cell in grid]
    if not given.cells:
        repeated = second_look(pairs)
        results = finish(repeated, given.kept, trust=given.trust)
        again = [(cell, results[cell.name]) for cell in repeated]
        given.out.write_text(page(pairs, again), encoding="utf-8")
        write_cells(pairs + again, given.out.with_suffix(".csv"))
    broken = broken_promises(pairs)
    print("\n".join(broken) or "no promise is broken", file=sys.stderr)
    return int(bool(broken))


def finish(grid: list[Cell], kept: Path, *, trust: bool = False) -> dict[str, Result]:
    """Return the results of all cells; those that the file does not have yet are run and added to it."""
    source = None if trust else source_digest()
    results = read(kept, source)
    wanted = [cell for cell in grid if not _same(cell, results.get(cell.name))]
    started = time.monotonic()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a", encoding="utf-8") as lines:
        for done, cell in enumerate(wanted, start=1):
            results[cell.name] = run(cell)
            line = {"source": source or source_digest(), **results[cell.name].as_dict()}
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")
            lines.flush()
            left = (time.monotonic() - started) / done * (len(wanted) - done)
            print(f"{done}/{len(wanted)} about {left:.0f} s left: {cell.name}", file=sys.stderr)
    return results


@cache
def source_digest() -> str:
    """Return a digest of the source code that the results rest on: the simulations and all statistics."""
    files = [*(ROOT / "tests" / "coverage").glob("*.py"), *(ROOT / "calibrate" / "stats").rglob("*.py")]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in sorted(files))).hexdigest()[:16]


def read(kept: Path, source: str | None) -> dict[str, Result]:
    """Return finished cells by name, of any source code if None; a line cut off when a run was stopped is left out."""
    results: dict[str, Result] = {}
    if not kept.exists():
        return results
    text = kept.read_text(encoding="utf-8")
    if text and not text.endswith("\n"):
        text = text[: text.rfind("\n") + 1]
        kept.write_text(text, encoding="utf-8")
    for line in text.splitlines():
        found = json.loads(line)
        if found.pop("source") == source or source is None:
            results[found["name"]] = Result(**found)
    return results


def broken_promises(pairs: Pairs) -> list[str]:
    """Return a sentence for each promise that is broken; PJ's is about a share of cells."""
    told = [
        f"broken: {cell.name} covers {result.coverage:.3f}"
        for cell, result in pairs
        if cell.method != "PJ" and verdict(result.hits, result.defined, cell.promise) == "broken"
    ]
    held, promised = pj_share(pairs)
    if promised and held / promised < LEAST_SHARE_OF_PJ_CELLS:
        told.append(f"broken: PJ holds its band in {held} of {promised} cells")
    return told


def page(pairs: Pairs, again: Pairs) -> str:
    """Return the Markdown of all tables; of methods with many cells the means by circumstance and the worst cells."""
    parts = [INTRODUCTION, f"Version {installed_version()}.\n", summary(pairs), looked_again(again)]
    for method, title in SECTIONS.items():
        own = [(cell, result) for cell, result in pairs if cell.method == method]
        if len(own) > 2 * SHOWN:
            worst = sorted(own, key=lambda pair: (_outside(*pair), pair[1].coverage or 0.0))[:SHOWN]
            text = f"{margins(own)}\n\nThe {SHOWN} cells that are worst off:\n\n{table(worst)}"
        else:
            text = table(own)
        parts.append(f"## {title}\n\n{text}\n")
    return "\n".join(parts)


def looked_again(again: Pairs) -> str:
    """Return what became of cells that lay outside their band by more than nothing, once they had many trials."""
    rows = [SECOND_LOOK, "| method | cells | trials | outside | lowest | highest |", "|---|--:|--:|--:|--:|--:|"]
    for method in SECTIONS:
        own = [(cell, result) for cell, result in again if cell.method == method and result.coverage is not None]
        if own:
            shares = [result.coverage or 0.0 for _, result in own]
            broken = [verdict(result.hits, result.defined, promise_of(cell, result)) for cell, result in own]
            figures = f"{broken.count('broken')} | {min(shares):.3f} | {max(shares):.3f}"
            rows.append(f"| {method} | {len(own)} | {own[0][1].trials:,} | {figures} |")
    below = [pair for pair in again if verdict(pair[1].hits, pair[1].defined, promise_of(*pair)) == "broken"]
    parts = ["\n".join(rows)]
    for method in SECTIONS:
        own = sorted((pair for pair in below if pair[0].method == method), key=lambda pair: _outside(*pair))
        if own:
            parts.append(f"{method}, outside its band:\n\n{table(own)}")
    return "\n\n".join(parts) + "\n"


def _outside(cell: Cell, result: Result) -> float:
    """Return how far a coverage lies inside its band: below 0 outside of it; cells without a band come last."""
    band = promise_of(cell, result)
    if result.coverage is None:
        return float("inf")
    if band is None:
        return float("inf") if cell.promise is not None else float(result.coverage)
    return float(min(result.coverage - band.low, band.high - result.coverage if band.high < 1.0 else 1.0))


def margins(pairs: Pairs) -> str:
    """Return mean and smallest coverage and mean width of all cells that share a circumstance."""
    heads = ["circumstance", "cells", "mean coverage", "lowest", "highest", "mean width"]
    rows = [_row(heads), _row(["---"] * len(heads))]
    for key in pairs[0][0].where:
        for value in dict.fromkeys(cell.where[key] for cell, _ in pairs):
            own = [result for cell, result in pairs if cell.where[key] == value and result.coverage is not None]
            shares, widths = [one.coverage or 0.0 for one in own], [one.width or 0.0 for one in own]
            mean, width = sum(shares) / len(own), sum(widths) / len(own)
            figures = [f"{share:.3f}" for share in (mean, min(shares), max(shares), width)]
            rows.append(_row([f"{key} {value}", str(len(own)), *figures]))
    return "\n".join(rows)


def write_cells(pairs: Pairs, path: Path) -> None:
    """Write all cells as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        heads = ["method", "circumstances", "coverage", "low", "high", "mean_width", "trials", "undefined", "seed"]
        rows.writerow([*heads, "discordant", "promise_low", "promise_high", "verdict", "version"])
        for cell, result in pairs:
            rows.writerow([*_cell_figures(cell, result), installed_version()])


def _cell_figures(cell: Cell, result: Result) -> Iterator[str]:
    yield cell.method
    yield cell.name.removeprefix(f"{cell.method}: ")
    if result.coverage is None or result.width is None:
        yield from ("", "", "", "")
    else:
        figures = (result.coverage, *monte_carlo_limits(result.hits, result.defined), result.width)
        yield from (f"{figure:.4f}" for figure in figures)
    yield from (str(result.trials), str(result.trials - result.defined), str(result.seed))
    yield str(result.facts.get("discordant", ""))
    band = promise_of(cell, result)
    yield from ("", "") if band is None else (str(band.low), str(band.high))
    yield verdict(result.hits, result.defined, band)


def summary(pairs: Pairs) -> str:
    """Return one row a method: cells, smallest, mean and largest coverage, and what became of the promise."""
    rows = ["| method | cells | trials a cell | lowest | mean | highest | promise |", "|---|--:|--:|--:|--:|--:|---|"]
    for method in SECTIONS:
        own = [(cell, result) for cell, result in pairs if cell.method == method]
        shares = [result.coverage for _, result in own if result.coverage is not None]
        if not shares:
            continue
        counts = f"{len(own):,} | {own[0][1].trials:,} | {min(shares):.3f} | {sum(shares) / len(shares):.3f}"
        rows.append(f"| {method} | {counts} | {max(shares):.3f} | {_outcome(method, own)} |")
    return "\n".join(rows) + "\n"


def _outcome(method: str, own: Pairs) -> str:
    if method == "PJ":
        held, promised = pj_share(own)
        word = "held" if not promised or held / promised >= LEAST_SHARE_OF_PJ_CELLS else "broken"
        return f"{word}: in its band in {held} of {promised} cells"
    verdicts = [verdict(result.hits, result.defined, cell.promise) for cell, result in own]
    if verdicts.count("no promise") == len(verdicts):
        return "none"
    return f"broken in {verdicts.count('broken')} cells" if "broken" in verdicts else "held in every cell, by the rule"


def table(pairs: Pairs) -> str:
    """Return the rows of one method's cells."""
    if not pairs:
        return "Not run."
    keys = list(pairs[0][0].where)
    discordant = "discordant" in pairs[0][1].facts
    heads = [*keys, *(["discordant"] if discordant else []), "coverage", "99.9 % interval", "mean width", "trials"]
    heads += ["undefined", "seed", "promise"]
    rows = [_row(heads), _row(["---"] * len(heads))]
    for cell, result in pairs:
        facts = [f"{result.facts['discordant']:.1f}"] if discordant else []
        rows.append(_row([*map(str, cell.where.values()), *facts, *_figures(cell, result)]))
    return "\n".join(rows)


def _figures(cell: Cell, result: Result) -> list[str]:
    tail = [str(result.trials), str(result.trials - result.defined), str(result.seed)]
    if result.coverage is None or result.width is None:
        return ["–", "–", "–", *tail, "–"]
    low, high = monte_carlo_limits(result.hits, result.defined)
    told = verdict(result.hits, result.defined, promise_of(cell, result))
    return [
        f"{result.coverage:.3f}",
        f"{low:.3f}–{high:.3f}",
        f"{result.width:.3f}",
        *tail,
        told.replace("no promise", "–"),
    ]


def _row(values: Iterable[str]) -> str:
    return "| " + " | ".join(values) + " |"


def _same(cell: Cell, result: Result | None) -> bool:
    return result is not None and result.seed == cell.seed and result.trials >= cell.trials


if __name__ == "__main__":
    sys.exit(main())
