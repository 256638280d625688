"""Take the README's pictures out of a demo report: `python scripts/readme_image.py usercal-demo/report.html`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
PICTURES = {"alignment.svg": "one assistant ×", "frontier.svg": "strict frontier"}
"""File → words of the caption of the figure that it is."""


def main() -> int:
    """Write the first figure of each kind; returns 1 where the report lacks one."""
    html = Path(sys.argv[1]).read_text("utf-8")
    figures = re.findall(r"<figure.*?</figure>", html, re.DOTALL)
    folder = HOME / "docs" / "img"
    folder.mkdir(parents=True, exist_ok=True)
    missing = 0
    for name, words in PICTURES.items():
        drawing = next((re.search(r"<svg.*?</svg>", figure, re.DOTALL) for figure in figures if words in figure), None)
        if drawing is None:
            print(f"the report has no figure for {name}")
            missing = 1
            continue
        (folder / name).write_text(standing_alone(drawing[0]) + "\n", "utf-8")
        print(f"wrote {name}")
    return missing


def standing_alone(drawing: str) -> str:
    """Return a drawing of the report as a file of its own, with the report's colours for dark screens."""
    style = (HOME / "calibrate" / "report" / "style.html.j2").read_text("utf-8")
    dark = re.search(r"@media \(prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}", style, re.DOTALL)
    if dark is None:
        raise SystemExit("the style of the report has no colours for dark screens")
    colours = " ".join(line.strip() for line in dark[1].splitlines() if line.strip().startswith("--"))
    head = f"<style>@media (prefers-color-scheme: dark) {{ svg {{ {colours} }} }}</style>"
    opened = re.match(r"<svg [^>]*>", drawing)
    assert opened is not None
    start = opened[0].replace("<svg ", '<svg font-family="system-ui, sans-serif" ', 1)
    return f"{start}{head}{drawing[opened.end():]}"


if __name__ == "__main__":
    sys.exit(main())
