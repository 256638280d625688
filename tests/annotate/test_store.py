"""The store: many openers, full disks, newer versions, and what comes back is what went in."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from hypothesis import given, settings
from hypothesis import strategies as st

import annotate.store
from annotate.errors import StoreError, StoreVersionError
from annotate.schema import Annotation, Conversation, Item, Participant, Target, Turn
from annotate.store import Store
from annotate.store.tables import VERSION


def conversation(identity: str = "c_1", text: str = "hello", **more: object) -> Conversation:
    return Conversation(
        id=identity,
        task="math_tutoring",
        item="i_1",
        participant="p_1",
        assistant="a",
        origin="human",
        turns=(Turn(position=0, role="user", text=text),),
        **more,
    ).completed()  # type: ignore[arg-type]


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'store.db'}"


def test_four_processes_open_a_fresh_store_at_once(tmp_path: Path) -> None:
    code = (
        "import sys, time; from annotate.store import Store; from annotate.schema import Participant\n"
        "while time.time() < float(sys.argv[2]): pass\n"
        "s = Store.open(sys.argv[1])\n"
        "with s.begin() as tx: tx.add([Participant(id=sys.argv[3], kind='human')])\n"
    )
    start = str(time.time() + 3)
    running = [
        subprocess.Popen([sys.executable, "-c", code, url(tmp_path), start, f"p_{n}"], stderr=subprocess.PIPE)
        for n in range(4)
    ]
    errors = [process.communicate(timeout=60)[1].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0, 0], errors
    with Store.open(url(tmp_path)) as store:
        assert store.ids(Participant) == {"p_0", "p_1", "p_2", "p_3"}


def test_the_version_constant_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(annotate.store.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == VERSION


def test_migrations_make_the_declared_tables(tmp_path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from sqlmodel import SQLModel

    with Store.open(url(tmp_path)) as store, store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), SQLModel.metadata) == []


def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    Store.open(url(tmp_path)).close()
    with sqlite3.connect(tmp_path / "store.db") as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreVersionError, match="newer version of UserCal"):
        Store.open(url(tmp_path))
    with sqlite3.connect(tmp_path / "store.db") as raw:
        assert raw.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)


@pytest.mark.parametrize("content", [b"not a database at all, but long enough", b"\x00" * 64, b"PK\x03\x04zip"])
def test_another_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store.db").write_bytes(content)
    with pytest.raises(StoreError, match="is not a SQLite file"):
        Store.open(url(tmp_path))
    assert (tmp_path / "store.db").read_bytes() == content


def test_only_a_regular_file_is_a_store_and_nothing_else_is_ever_removed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="not a regular file"):
        Store.open(f"sqlite:///{tmp_path / 'pipe'}")
    assert (tmp_path / "pipe").exists()


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "store.db") as raw:
        raw.execute("CREATE TABLE songs (title)")
    with pytest.raises(StoreError, match="another program"):
        Store.open(url(tmp_path))


@pytest.mark.parametrize("bad", ["nonsense", "mysql://u:secretword@h/d", "sqlite:////no/such/folder/x.db", "x://y"])
def test_a_bad_url_is_one_sentence_without_the_password(bad: str) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open(bad)
    assert "secretword" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_size_limit_leaves_nothing_half_written(tmp_path: Path) -> None:
    Store.open(url(tmp_path)).close()
    code = (
        "import resource, signal, sys; from annotate.store import Store; from annotate.schema import Participant\n"
        "from annotate.errors import StoreError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "store = Store.open(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "people = [Participant(id=f'p_{n}', kind='human', background={'x': 'y' * 2000}) for n in range(2000)]\n"
        "try:\n    with store.begin() as tx: tx.add(people)\n"
        "except StoreError as error: print(error); sys.exit(2)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, url(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "nothing of this step was written" in done.stdout and done.stdout.count("\n") == 1
    with Store.open(url(tmp_path)) as store:
        assert store.count(Participant) == 0


def test_a_fresh_store_that_cannot_be_made_is_not_left_behind(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from annotate.store import Store; from annotate.errors import StoreError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        "try: Store.open(sys.argv[1])\nexcept StoreError as error: print(error); sys.exit(2)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, url(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr + done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_failed_transaction_writes_nothing(tmp_path: Path) -> None:
    with Store.open(url(tmp_path)) as store:
        with pytest.raises(StoreError, match="same identity"), store.begin() as tx:
            tx.add([Participant(id="p_1", kind="human"), conversation("c_1"), conversation("c_1", "again")])
        assert store.count(Conversation) == 0 and store.count(Participant) == 0


def test_add_new_counts_only_what_was_new(tmp_path: Path) -> None:
    with Store.open(url(tmp_path)) as store:
        with store.begin() as tx:
            assert tx.add_new([conversation("c_1"), conversation("c_2", cell="cell")]) == 2
        with store.begin() as tx:
            assert tx.add_new([conversation("c_1"), conversation("c_3", cell="cell"), conversation("c_4")]) == 1
        assert store.ids(Conversation) == {"c_1", "c_2", "c_4"}


def test_filters_and_order(tmp_path: Path) -> None:
    with Store.open(url(tmp_path)) as store:
        with store.begin() as tx:
            tx.add([Item(id=f"i_{n}", task="a" if n % 2 else "b", key=str(n)) for n in range(1203)])
        assert [item.key for item in store.iterate(Item, chunk=100)] == [str(n) for n in range(1203)]
        assert store.count(Item, task="a") == 601
        assert store.ids(Item, key=["3", "5", "no"]) == {"i_3", "i_5"}
        assert store.get(Item, "i_7") == Item(id="i_7", task="a", key="7") and store.get(Item, "no") is None


def test_an_annotation_is_found_by_its_target(tmp_path: Path) -> None:
    note = Annotation(id="a_1", rater="r_1", scale="interaction", target=Target(conversation="c_1", turn=3), value=7)
    with Store.open(url(tmp_path)) as store:
        with store.begin() as tx:
            tx.add([note])
        assert store.select(Annotation, conversation="c_1", turn=3) == [note]
        assert type(store.select(Annotation)[0].value) is int


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(url(tmp_path_factory.mktemp("text"))) as store:
        yield store


@settings(max_examples=60, deadline=None)
@given(
    st.text(alphabet=st.characters(), max_size=40)
    | st.text(alphabet="\udc00\ude00\x00a\\", max_size=8)
    | st.text(alphabet='\ud800\ud83d\x00"', max_size=8)
)
def test_any_text_comes_back_as_it_was(shared_store: Store, text: str) -> None:
    with shared_store.begin() as tx:
        tx.put([conversation(text=text)])
    assert shared_store.select(Conversation)[0].turns[0].text == text


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/proc/mounts").exists(), reason="mounting a tmpfs needs root")
def test_a_full_tmpfs(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=False, capture_output=True
    ).returncode:
        pytest.skip("mounting is refused here; the file-size limit test stands in")
    try:
        store = Store.open(url(small))
        with pytest.raises(StoreError, match="Free some space"), store.begin() as tx:
            tx.add([Participant(id=f"p_{n}", kind="human", background={"x": "y" * 2000}) for n in range(2000)])
        assert store.count(Participant) == 0
        store.close()
    finally:
        subprocess.run(["umount", str(small)], check=True)
