"""The two distributions hold the whole project: nothing that is checked in is missing, nothing else is in the wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("annotate", "simulate", "calibrate", "apps")
NOT_IN_THE_SOURCE_DISTRIBUTION = {"setup.cfg", "PKG-INFO"}  # written by the build


def project_files() -> set[str]:
    """Every file that is checked in, or would be with the next commit."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no git checkout: there is nothing to compare the distributions with")
    return {name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel built from it, both from a clean copy."""
    folder = tmp_path_factory.mktemp("built")
    for name in project_files():
        target = folder / "tree" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(folder / "tree")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The unpacked wheel."""
    (path,) = built.glob("usercal-*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(built / "wheel")
    return built / "wheel"


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_wheel_holds_every_file_of_the_packages_and_no_other(wheel: Path) -> None:
    expected = {name for name in project_files() if name.split("/")[0] in ROOMS} | {"usercal.py"}
    expected |= {f"usercal_{name}" for name in project_files() if name.startswith("data/")}
    found = {name for name in files_below(wheel) if ".dist-info/" not in name}
    assert (sorted(expected - found), sorted(found - expected)) == ([], [])


def test_the_source_distribution_holds_every_file(built: Path) -> None:
    (path,) = built.glob("usercal-*.tar.gz")
    with tarfile.open(path) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    assert sorted(project_files() - found) == []
    written = {
        name for name in found if name and not name.startswith("usercal.egg-info")
    } - NOT_IN_THE_SOURCE_DISTRIBUTION
    folders = {parent.as_posix() for name in project_files() for parent in Path(name).parents}
    assert sorted(written - project_files() - folders) == []


def test_the_wheel_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    code = """
import annotate, simulate.task, usercal, usercal_data
from importlib.resources import files
from pathlib import Path
for one in (annotate, usercal_data, usercal):
    print(Path(one.__file__).parent)
for name in simulate.task.shipped():
    task = simulate.task.load_task(name, {}, Path("."))
    assert task.scales and task.styles["writing"], name
    print(name, (task.folder / "prompts").is_dir())
print(len((files("usercal_data") / "math_problems.jsonl").read_text("utf-8").splitlines()) > 0)
"""
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == [str(wheel / "annotate"), str(wheel / "usercal_data"), str(wheel)]
    shipped = {path.parent.name for path in (ROOT / "simulate" / "tasks").glob("*/task.toml")}
    assert {line.split()[0] for line in lines[3:-1]} == shipped
    assert lines[-1] == "True"


def test_the_packages_say_that_they_are_typed(wheel: Path) -> None:
    assert [room for room in (*ROOMS, "usercal_data") if not (wheel / room / "py.typed").is_file()] == []


def test_the_command_and_the_licence_are_in_the_wheel(wheel: Path) -> None:
    (facts,) = wheel.glob("usercal-*.dist-info")
    assert "usercal = apps.cli:main" in (facts / "entry_points.txt").read_text("utf-8")
    assert "Apache License" in (facts / "licenses" / "LICENSE").read_text("utf-8")
    metadata = (facts / "METADATA").read_text("utf-8")
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.11" in metadata


def test_this_environment_finds_the_content_as_usercal_data(tmp_path: Path) -> None:
    code = "from importlib.resources import files; print(files('usercal_data') / 'README.md')"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_file()
