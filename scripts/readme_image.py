"""Take the README's picture out of a demo report: `python scripts/readme_image.py usercal-demo/report.html`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent / "docs" / "img" / "alignment.svg"


def main() -> int:
    """Write the first alignment scatter; returns 1 where the report has none."""
    html = Path(sys.argv[1]).read_text("utf-8")
    for figure in re.findall(r"<figure.*?</figure>", html, re.DOTALL):
        drawing = re.search(r"<svg.*?</svg>", figure, re.DOTALL)
        if "one assistant ×" in figure and drawing:
            HOME.parent.mkdir(parents=True, exist_ok=True)
            picture = drawing[0].replace("<svg ", "<svg font-family=\"system-ui, sans-serif\" ", 1)
            HOME.write_text(picture + "\n", "utf-8")
            print(f"wrote {HOME.name}")
            return 0
    print("the report has no alignment figure")
    return 1


if __name__ == "__main__":
    sys.exit(main())
