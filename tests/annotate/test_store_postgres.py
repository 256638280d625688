"""The store on PostgreSQL: a cluster of its own on loopback, made for these tests and ended with them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate.errors import StoreError, StoreVersionError
from annotate.schema import Annotation, Conversation, Participant, Target, Turn
from annotate.store import Store

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
pytestmark = [
    pytest.mark.skipif(not BINARIES, reason="PostgreSQL is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("psycopg") is None, reason="the extra 'postgres' is not installed"),
]


def as_owner(*words: str) -> list[str]:
    """PostgreSQL refuses to run as root: then its own account runs it."""
    return ["runuser", "-u", "postgres", "--", *words] if os.geteuid() == 0 else list(words)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="usercal-pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data, tools = folder / "data", BINARIES[-1]
    subprocess.run(as_owner(str(tools / "initdb"), "-A", "trust", "-U", "tester", "-D", str(data)), check=True,
                   capture_output=True, cwd="/")  # fmt: skip
    server = subprocess.Popen(
        as_owner(str(tools / "postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", str(folder),
                 "-c", "fsync=off"),
        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/",
    )  # fmt: skip
    deadline = time.monotonic() + 30
    ready = [str(tools / "pg_isready"), "-h", "127.0.0.1", "-p", str(port), "-q"]
    while subprocess.run(ready, check=False).returncode and time.monotonic() < deadline:
        time.sleep(0.1)
    yield f"127.0.0.1:{port}"
    server.terminate()
    server.wait(20)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def url(cluster: str, request: pytest.FixtureRequest) -> str:
    import psycopg

    name = f"t{abs(hash(request.node.name)) % 10**8}"
    host, port = cluster.split(":")
    with psycopg.connect(host=host, port=int(port), user="tester", dbname="postgres", autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}")
        admin.execute(f"CREATE DATABASE {name}")
    return f"postgresql://tester:notsecret@{cluster}/{name}"


def conversation(identity: str, text: str = "hello") -> Conversation:
    return Conversation(id=identity, task="math_tutoring", item="i_1", participant="p_1", assistant="a", origin="human",
                        turns=(Turn(position=0, role="user", text=text),)).completed()  # fmt: skip


@pytest.mark.parametrize("text", ["hello", "nul \x00 inside", "lone \ud83d surrogate", "ρ 字 😀 \\u0000 '; --"])
def test_what_goes_in_comes_out(url: str, text: str) -> None:
    with Store.open(url) as store:
        with store.begin() as tx:
            tx.add([conversation("c_1", text)])
            assert tx.add_new([conversation("c_1"), conversation("c_2")]) == 1
            tx.put([conversation("c_2", "changed")])
            tx.add([Annotation(id="a_1", rater="r", scale="s", target=Target(conversation="c_1"), value=3)])
        assert [c.turns[0].text for c in store.select(Conversation)] == [text, "changed"]
        assert store.count(Annotation, conversation="c_1") == 1


def test_four_processes_open_a_fresh_store_at_once(url: str) -> None:
    code = ("import sys, time; from annotate.store import Store; from annotate.schema import Participant\n"
            "while time.time() < float(sys.argv[2]): pass\n"
            "s = Store.open(sys.argv[1])\n"
            "with s.begin() as tx: tx.add([Participant(id=sys.argv[3], kind='human')])\n")  # fmt: skip
    start = str(time.time() + 3)
    running = [subprocess.Popen([sys.executable, "-c", code, url, start, f"p_{n}"], stderr=subprocess.PIPE)
               for n in range(4)]  # fmt: skip
    errors = [process.communicate(timeout=60)[1].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0, 0], errors
    with Store.open(url) as store:
        assert store.ids(Participant) == {"p_0", "p_1", "p_2", "p_3"}


def test_errors_are_one_sentence_without_the_password(url: str) -> None:
    with Store.open(url) as store, pytest.raises(StoreError, match="same identity") as caught, store.begin() as tx:
        tx.add([conversation("c_1"), conversation("c_1")])
    assert "\n" not in str(caught.value)
    with Store.open(url) as store:
        assert store.count(Conversation) == 0
        from sqlalchemy import text

        with store.engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreVersionError, match="newer version") as newer:
        Store.open(url)
    assert "notsecret" not in str(newer.value)
    with pytest.raises(StoreError) as gone:
        Store.open("postgresql://tester:notsecret@127.0.0.1:1/none")
    assert "\n" not in str(gone.value) and "notsecret" not in str(gone.value)
