"""Make .venv and install UserCal into it with the pinned versions; where that was done before, return at once.

    python scripts/bootstrap.py                      the core
    python scripts/bootstrap.py --extras dev,local   with extras; those that are there already stay

Uses the standard library only, and runs with any Python from 3.11. `make` and `demo.py` both come here first.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
NEWEST_PINNED = (3, 14)  # constraints.txt has no wheels for Pythons that came later
STAMP = "usercal-installed.json"
SOURCES = ("pyproject.toml", "setup.py", "constraints.txt")
QUIET = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off")
BEAT_SECONDS = 1.0
DOTS_A_LINE = 60


class SetUpError(Exception):
    """Something outside the project is missing or failed; the message is one sentence with its remedy."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Install, and return the exit code; a user's problem is one sentence on stderr."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extras", default="", metavar="NAME,NAME", help="such as dev,apps,local")
    options = parser.parse_args(arguments)
    try:
        ready(one for one in options.extras.split(",") if one)
    except SetUpError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from here.", file=sys.stderr)
        return 130
    return 0


def ready(extras: Iterable[str] = (), root: Path = ROOT) -> Path:
    """Return the Python of `root`/.venv with UserCal and `extras`; install what is missing; raises `SetUpError`."""
    if sys.version_info[:2] < OLDEST:
        raise SetUpError(
            f"UserCal needs Python {dotted(OLDEST)} or newer, and this is {dotted(sys.version_info[:2])}. "
            "Install a newer one and call it by its name, for example python3.12."
        )
    folder = root / ".venv"
    python = executable(folder, "python")
    digest = fingerprint(root)
    before, done = read_stamp(folder)
    wanted = done | set(extras)
    if before == digest and wanted == done and works(python):
        return python
    if not works(python):
        make_environment(folder)
    install(python, sorted(wanted), root)
    shutil.rmtree(root / "usercal.egg-info", ignore_errors=True)  # left over by the build, and soon out of date
    write_stamp(folder, digest, sorted(wanted))
    return python


def executable(folder: Path, name: str) -> Path:
    """Return where a program of the environment in `folder` lies on this system."""
    return folder / "Scripts" / f"{name}.exe" if sys.platform == "win32" else folder / "bin" / name


def dotted(version: Sequence[int]) -> str:
    """Return (3, 11) as `3.11`."""
    return ".".join(map(str, version))


def fingerprint(root: Path) -> str:
    """Return the sha256 over everything that decides what is installed; where it changed, pip is called again."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape"))
    for name in SOURCES:
        digest.update((root / name).read_bytes())
    return digest.hexdigest()


def read_stamp(folder: Path) -> tuple[str, set[str]]:
    """Return the fingerprint and the extras of the last complete installation; both empty where there was none."""
    try:
        stamp = json.loads((folder / STAMP).read_text("utf-8"))
        return str(stamp["digest"]), set(map(str, stamp["extras"]))
    except (OSError, ValueError, KeyError, TypeError):
        return "", set()


def write_stamp(folder: Path, digest: str, extras: list[str]) -> None:
    """Write down that an installation is complete."""
    (folder / STAMP).write_text(json.dumps({"digest": digest, "extras": extras}), "utf-8")


def works(python: Path) -> bool:
    """Say whether the environment's Python starts and is new enough; false after its base was moved or removed."""
    if not python.exists():
        return False
    code = f"import sys; sys.exit(sys.version_info[:2] < {OLDEST})"
    try:
        return subprocess.run([str(python), "-c", code], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def make_environment(folder: Path) -> None:
    """Make the environment, with pip even where this Python comes without `ensurepip` (Debian's python3-venv)."""
    print(f"Making {folder.name} with Python {dotted(sys.version_info[:3])} ...", flush=True)
    if has_module("venv") and has_module("ensurepip"):
        run_quietly([sys.executable, "-m", "venv", "--clear", str(folder)], missing_venv())
    elif has_module("venv") and has_module("pip"):
        run_quietly([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)], missing_venv())
        run_quietly(
            [
                sys.executable,
                "-m",
                "pip",
                "--python",
                str(executable(folder, "python")),
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "pip",
            ],
            missing_venv(),
        )
    else:
        raise SetUpError(missing_venv())


def has_module(name: str) -> bool:
    """Say whether this Python has the module, without importing it."""
    return importlib.util.find_spec(name) is not None


def missing_venv() -> str:
    """Say what to do where no virtual environment can be made."""
    return (
        f"This Python cannot make a virtual environment with pip. On Debian and Ubuntu: "
        f"sudo apt install python{dotted(sys.version_info[:2])}-venv; elsewhere install Python from python.org. "
        "Then give the same command again."
    )


def run_quietly(command: list[str], remedy: str) -> None:
    """Run a command and show its words only if it fails; raises `SetUpError` with the remedy."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        print((done.stdout + done.stderr).strip(), file=sys.stderr)
        raise SetUpError(remedy)


def install(python: Path, extras: list[str], root: Path) -> None:
    """Install the checkout with the pinned versions; pip's words go to .venv/install.log, its errors to the screen."""
    target = f".[{','.join(extras)}]" if extras else "."
    command = [str(python), "-m", "pip", "install", "--editable", target, *QUIET]
    if sys.version_info[:2] <= NEWEST_PINNED:
        command += ["--constraint", "constraints.txt"]
    else:
        print(f"Python {dotted(sys.version_info[:2])} is newer than the pinned versions: they are not used.")
    began = time.monotonic()
    what = f"UserCal with {', '.join(extras)}" if extras else "UserCal"
    print(f"Installing {what} into .venv (once; usually one or two minutes)", flush=True)
    log = root / ".venv" / "install.log"
    with subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        lines = follow(pip.stdout or [], Beat(sys.stdout))
    log.write_text("".join(lines), "utf-8")
    if pip.returncode:
        print("".join(error_lines(lines)), end="", file=sys.stderr)
        raise SetUpError(
            f"pip could not install {what} (all of its output: {log.relative_to(root)}). "
            "If it was the network or the disk, give the same command again: it goes on from here."
        )
    print(f"Installed in {time.monotonic() - began:.0f} s", flush=True)


class Beat:
    """A sign of life at least once a second: on a terminal one line that changes, elsewhere a row of dots."""

    def __init__(self, screen: IO[str]) -> None:
        self.screen = screen
        self.terminal = screen.isatty()
        self.text = "starting"
        self.count = 0
        self.began = time.monotonic()

    def show(self) -> None:
        """Show that the work goes on."""
        self.count += 1
        if self.terminal:
            line = f"  {time.monotonic() - self.began:4.0f} s  {self.text}"
            self.screen.write(f"\r{line[:78]:<78}")
        else:
            self.screen.write("." + ("\n" if self.count % DOTS_A_LINE == 0 else ""))
        self.screen.flush()

    def close(self) -> None:
        """Leave the cursor at the start of a line."""
        if self.terminal:
            self.screen.write("\r" + " " * 78 + "\r")
        elif self.count % DOTS_A_LINE:
            self.screen.write("\n")
        self.screen.flush()


def follow(output: Iterable[str], beat: Beat) -> list[str]:
    """Read a command's output to its end while the beat goes on; return its lines."""
    over = threading.Event()

    def tick() -> None:
        while not over.wait(BEAT_SECONDS):
            beat.show()

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    lines = []
    try:
        for line in output:
            lines.append(line)
            if said := step(line):
                beat.text = said
    finally:
        over.set()
        ticking.join()
        beat.close()
    return lines


def step(line: str) -> str:
    """Return a line of pip as a few words, or nothing for a line that says nothing to the reader."""
    words = line.split()
    if not words or line.startswith(("WARNING", "DEPRECATION", "Requirement already", "Looking in")):
        return ""
    if words[0] in ("Collecting", "Downloading", "Using", "Building", "Processing"):
        return " ".join(words[:2] if words[0] != "Using" else words[:3])
    return "Installing the packages" if words[0] == "Installing" and words[1:2] == ["collected"] else ""


def error_lines(lines: list[str]) -> list[str]:
    """Return what pip said from its first error on, at most 40 lines; its last ten lines where it named none."""
    first = next((n for n, line in enumerate(lines) if line.lstrip().lower().startswith(("error:", "error "))), None)
    return lines[first:][:40] if first is not None else lines[-10:]


if __name__ == "__main__":
    sys.exit(main())
