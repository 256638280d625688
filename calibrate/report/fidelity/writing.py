"""The files of an analysis, each put in its place whole: page, Markdown, data, LaTeX, figures, methods, cards."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from annotate.errors import ConfigError
from calibrate.estimate import Undefined
from calibrate.fidelity.results import FidelityAnalysis
from calibrate.report.fidelity.amounts import named
from calibrate.report.fidelity.card import card_to_html, card_to_markdown, proxy_card
from calibrate.report.fidelity.composing import TITLE, compose_fidelity
from calibrate.report.fidelity.figures import charts
from calibrate.report.fidelity.latex import escape_but_citations, to_latex
from calibrate.report.fidelity.methods import methods_source
from calibrate.report.fidelity.printing import PrintFormat, printed
from calibrate.report.fidelity.probing import ProbeLine
from calibrate.report.fidelity.references import bibliography
from calibrate.report.fidelity.tables import domains_to_csv, to_csv, to_json
from calibrate.report.html import to_html
from calibrate.report.markdown import to_markdown
from calibrate.report.wording import encodable

Format = Literal["html", "md", "json", "csv", "tex", "pdf", "svg", "png", "methods", "cards"]
FORMATS: tuple[Format, ...] = get_args(Format)
_PRINT: tuple[PrintFormat, ...] = get_args(PrintFormat)
_COLUMNS: tuple[tuple[str, Literal[1, 2]], ...] = (("", 1), ("-wide", 2))
METHODS_HEAD = "% Methods, ready for LaTeX: paste into a paper and cite from refs.bib (UTF-8)."
_LONGEST_STEM = 60
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in range(10))}


def write_fidelity(
    analysis: FidelityAnalysis,
    out: Path,
    *,
    formats: Collection[str] = FORMATS,
    title: str = TITLE,
    probes: Sequence[ProbeLine] = (),
    rubric: str | None = None,
    notices: Sequence[str] = (),
) -> dict[str, Path]:
    """Write the files of an analysis below `out` and return name → path, in the order of writing.

    Each file is written beside its place and then put there, so a reader never meets half a file. Figures that cannot
    be drawn (no reward, no families) are not written, and a figure of that name from an earlier analysis is removed.

    Args:
        formats: which kinds of file, of `FORMATS`; figures for print are 3.3 inches wide, and 6.9 as NAME-wide.

    Raises:
        ConfigError: an unknown format.
    """
    unknown = [form for form in formats if form not in FORMATS]
    if unknown:
        raise ConfigError(f"format {unknown[0]!r} is not known: choose of {', '.join(FORMATS)}.")
    out.mkdir(parents=True, exist_ok=True)
    paths: dict[str, Path] = {}
    for name, make in _texts(analysis, formats, title, probes, rubric, notices):
        paths[name] = _put(out / name, make())
    wanted = [form for form in _PRINT if form in formats]
    if wanted:
        for name, content in _figures(analysis, out, wanted):
            paths[name] = _put(out / name, content)
    if "cards" in formats:
        (out / "cards").mkdir(exist_ok=True)
        for proxy, stem in file_stems([score.proxy for score in analysis.proxies]).items():
            card = proxy_card(analysis, proxy, rubric=rubric)
            for name, text in (
                (f"cards/{stem}.html", card_to_html(card)),
                (f"cards/{stem}.md", card_to_markdown(card)),
            ):
                paths[name] = _put(out / name, text)
    return paths


def _figures(analysis: FidelityAnalysis, out: Path, wanted: Sequence[PrintFormat]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the figures for print; remove those of an earlier analysis that this one lacks."""
    for name, chart in charts(analysis).items():
        for mark, columns in _COLUMNS:
            if isinstance(chart, Undefined):
                for form in wanted:
                    (out / f"{name}{mark}.{form}").unlink(missing_ok=True)
                continue
            for form, content in printed(chart, wanted, columns=columns).items():
                yield f"{name}{mark}.{form}", content


def _texts(
    analysis: FidelityAnalysis,
    formats: Collection[str],
    title: str,
    probes: Sequence[ProbeLine],
    rubric: str | None,
    notices: Sequence[str],
) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield name and maker of the text files."""
    if "html" in formats or "md" in formats:
        report = compose_fidelity(analysis, title=title, probes=probes, rubric=rubric, notices=notices)
        if "html" in formats:
            page = replace(report, files=_beside(analysis, formats))
            yield "ufs.html", lambda: to_html(page)
        if "md" in formats:
            yield "ufs.md", lambda: to_markdown(report)
    if "json" in formats:
        yield "ufs.json", lambda: to_json(analysis)
    if "csv" in formats:
        yield "ufs.csv", lambda: to_csv(analysis)
        yield "ufs_domains.csv", lambda: domains_to_csv(analysis)
    if "tex" in formats:
        yield "ufs.tex", lambda: to_latex(analysis)
    if "methods" in formats:
        texts = methods_source(analysis, rubric=rubric)
        yield "methods.txt", lambda: "\n\n".join([METHODS_HEAD, *map(escape_but_citations, texts)]) + "\n"
        yield "refs.bib", lambda: bibliography(texts)


def _beside(analysis: FidelityAnalysis, formats: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return address and words of the files that are written beside the page: data, tables, figures, cards."""
    names = [
        *(("ufs.csv", "ufs_domains.csv") if "csv" in formats else ()),
        *(("ufs.json",) if "json" in formats else ()),
        *(("ufs.tex",) if "tex" in formats else ()),
        *(("methods.txt", "refs.bib") if "methods" in formats else ()),
    ]
    form = next((form for form in _PRINT if form in formats), None)
    drawn = [name for name, chart in charts(analysis).items() if form and not isinstance(chart, Undefined)]
    links = [(name, name) for name in (*names, *(f"{name}.{form}" for name in drawn))]
    if "cards" in formats:
        stems = file_stems([score.proxy for score in analysis.proxies])
        links += [(f"cards/{stem}.html", f"card of {named(proxy, 40)}") for proxy, stem in stems.items()]
    return tuple(links)


def _put(path: Path, content: str | bytes) -> Path:
    """Write a file beside its place and then put it there; a disk that fills up leaves what was there."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    data = encodable(content).encode("utf-8") if isinstance(content, str) else content
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    return path


def file_stems(proxies: Sequence[str]) -> dict[str, str]:
    """Return a file name without ending for each proxy: plain, short, and different for different proxies.

    The same proxy has the same name whatever the others are called, unless two names come to the same: then each of
    them gets a part of its own hash.
    """
    cleaned = {proxy: clean_stem(proxy) for proxy in proxies}
    used: dict[str, int] = {}
    for stem in cleaned.values():
        used[stem.casefold()] = used.get(stem.casefold(), 0) + 1
    return {
        proxy: stem if used[stem.casefold()] == 1 else f"{stem}-{_short_hash(proxy)}" for proxy, stem in cleaned.items()
    }


def clean_stem(name: str) -> str:
    """Return a name as it may stand in a file name anywhere; a name that nothing is left of becomes its hash."""
    flat = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    stem = re.sub(r"[^A-Za-z0-9._+-]+", "-", flat).strip("-._")
    lost = len(re.sub(r"[^\w]", "", name)) > len(re.sub(r"[^\w]", "", stem))
    if not stem or stem.lower().split(".")[0] in _RESERVED:
        return f"proxy-{_short_hash(name)}"
    if len(stem) > _LONGEST_STEM or lost:
        return f"{stem[:_LONGEST_STEM].rstrip('-._')}-{_short_hash(name)}"
    return stem


def _short_hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
