"""Write constraints.txt: one version for every package that UserCal and all its extras can bring in.

    python3.11 scripts/pin.py            resolve anew with pip and rewrite constraints.txt
    python3.12 scripts/pin.py --check    change nothing; exit 1 unless the pins can be installed with this Python

Nothing is installed: pip resolves in a scratch environment (`--dry-run`). Run it with the oldest Python that is
supported, since a package may have dropped that one in its newest version. Packages that only another system or a newer
Python asks for (colorama on Windows) are found by their markers. Needs the package `packaging` (extra `dev`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "constraints.txt"
# Bounds beyond those of pyproject.toml, each with its reason.
PREFERENCES = (
    "numpy>=2.3.3",  # what pandas asks for on Python 3.14
    "label-studio-sdk<2.0.21",  # later ones, up to 2.1.2, ask for an image library that holds numpy below 2.3
)
SYSTEMS = (
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"},
    {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
HEADER = """\
# One version for every package that UserCal and all its extras can bring in. Written by `python3.11 scripts/pin.py`.
# It limits versions and installs nothing by itself:  pip install -c constraints.txt -e '.[dev]'
# Builds of torch for a GPU bring further packages, whose versions torch fixes itself.
"""


def requirements() -> list[str]:
    """Return every requirement of pyproject.toml: the core and all extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(text for extra in extras.values() for text in extra)]


def resolve(python: Path, wanted: Iterable[str], *options: str) -> list[dict[str, Any]]:
    """Return the metadata of every package that pip would install for `wanted`; SystemExit with pip's words if none."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        command = [
            str(python),
            "-m",
            "pip",
            "install",
            "--dry-run",
            "--ignore-installed",
            "--quiet",
            "--report",
            str(report),
            *options,
            *wanted,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if not line.startswith("WARNING")]
            raise SystemExit("\n".join(["pip found no set of versions that fits:", *errors]))
        return [entry["metadata"] for entry in json.loads(report.read_text("utf-8"))["install"]]


def asked_elsewhere(packages: list[dict[str, Any]]) -> set[str]:
    """Return the requirements that hold on some system and Python but are not among `packages`, without markers."""
    known = {canonicalize_name(package["name"]) for package in packages}
    needed = [Requirement(text) for package in packages for text in package.get("requires_dist", [])]
    missing = {one for one in needed if canonicalize_name(one.name) not in known and holds_somewhere(one)}
    return {f"{one.name}{one.specifier}" for one in missing}


def holds_somewhere(requirement: Requirement) -> bool:
    """Say whether the marker holds on any of `SYSTEMS` and `PYTHONS`, for what is required without an extra."""
    marker = requirement.marker
    if marker is None:
        return False  # pip has seen it
    return any(
        marker.evaluate({**system, "python_version": python, "python_full_version": f"{python}.0", "extra": ""})
        for system in SYSTEMS
        for python in PYTHONS
    )


def pins(python: Path) -> str:
    """Resolve everything and return the text of constraints.txt."""
    wanted = [*requirements(), *PREFERENCES]
    packages = resolve(python, wanted)
    while elsewhere := asked_elsewhere(packages):
        print(f"also for other systems: {', '.join(sorted(elsewhere))}", flush=True)
        wanted += sorted(elsewhere)
        packages = resolve(python, wanted)
    lines = {canonicalize_name(one["name"]): Version(one["version"]).public for one in packages}
    return HEADER + "".join(f"{name}=={version}\n" for name, version in sorted(lines.items()))


def main(arguments: list[str] | None = None) -> int:
    """Rewrite constraints.txt, or check that it can be installed; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, exit 1 when the pins cannot be installed")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        python = Path(scratch) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        # The pip that came with an older Python searches for many minutes where a new one is done in half of one.
        upgrade = [str(python), "-m", "pip", "install", "--quiet", "--upgrade", "pip"]
        subprocess.run(upgrade, check=True, stderr=subprocess.DEVNULL)
        if options.check:
            found = resolve(python, requirements(), "-c", str(PINS), "--only-binary=:all:")
            version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
            print(f"{version}: {len(found)} packages, each pinned version has a wheel")
        else:
            PINS.write_text(pins(python), "utf-8", newline="\n")
            print(f"{PINS.name}: {sum('==' in line for line in PINS.read_text('utf-8').splitlines())} versions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
