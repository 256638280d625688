"""Write, or with --check compare, the table of sizes and sha256 sums in the README of the shipped content.

Hashes are taken over the bytes with LF line endings, so that a checkout that uses CRLF gives the same table.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
START = "<!-- hashes: start -->"
END = "<!-- hashes: end -->"
SUFFIXES = (".json", ".jsonl", ".toml", ".md", ".csv", ".gz")


def content_files(data: Path) -> list[Path]:
    """Return every content file below `data`, sorted by path, without the README that holds the table."""
    found = [path for path in data.rglob("*") if path.is_file() and path.suffix in SUFFIXES]
    return sorted(set(found) - {data / "README.md"}, key=lambda path: path.relative_to(data).as_posix())


def with_lf(path: Path) -> bytes:
    """Return the bytes of a text file with LF line endings, and those of a compressed file as they are."""
    raw = path.read_bytes()
    return raw if path.suffix == ".gz" else raw.replace(b"\r\n", b"\n")


def hash_table(data: Path) -> str:
    """Return the Markdown table of path, size in bytes and sha256, one row a content file."""
    rows = ["| file | bytes | sha256 |", "|---|---:|---|"]
    for path in content_files(data):
        body = with_lf(path)
        name, digest = path.relative_to(data).as_posix(), hashlib.sha256(body).hexdigest()
        rows.append(f"| `{name}` | {len(body)} | `{digest}` |")
    return "\n".join(rows)


def with_table(readme: str, table: str) -> str:
    """Return the README text with the table between its two markers; ValueError where a marker is missing."""
    head, start, rest = readme.partition(START)
    _, end, tail = rest.partition(END)
    if not start or not end:
        raise ValueError(f"README.md: the markers {START!r} and {END!r} are missing. Put both back.")
    return f"{head}{START}\n{table}\n{END}{tail}"


def main(arguments: list[str] | None = None) -> int:
    """Rewrite the table, or compare it; return 0 if it is fresh, 1 with one sentence on stderr if not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, exit 1 when the table is stale")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the content (default: data/)")
    options = parser.parse_args(arguments)
    readme = options.data / "README.md"
    if not readme.is_file():
        print(f"{readme}: there is no such file. Give the folder of the content with --data.", file=sys.stderr)
        return 1
    try:
        old = readme.read_text(encoding="utf-8")
        new = with_table(old, hash_table(options.data))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    if options.check and new != old:
        print("README.md: table of hashes is stale. Run `python scripts/data_hashes.py`.", file=sys.stderr)
        return 1
    if not options.check:
        readme.write_text(new, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
