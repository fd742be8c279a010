"""Against jgo itself and a small Maven repository on loopback."""

import hashlib
import http.server
import threading
from functools import partial

import jgo.maven._core
import pytest

from gpuward.contracts.errors import Permanent
from gpuward.local import jars

CONTENT = b"a jar"
WITHIN = "org/example/thing/1.0/thing-1.0.jar"


@pytest.fixture(autouse=True)
def one_locked_jar(tmp_path, monkeypatch):
    lock = tmp_path / "lock.toml"
    lock.write_text(f'[sha256]\n"org.example:thing:1.0" = "{hashlib.sha256(CONTENT).hexdigest()}"\n')
    monkeypatch.setattr(jars, "LOCK", lock)
    monkeypatch.setenv("M2_REPO", str(tmp_path / "m2"))
    monkeypatch.setenv("JGO_CONFIG_FILE", str(tmp_path / "none.conf"))


def put(repository, content):
    jar = repository / WITHIN
    jar.parent.mkdir(parents=True)
    jar.write_bytes(content)
    return jar


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def remote(tmp_path, monkeypatch):
    repository = tmp_path / "remote"
    repository.mkdir()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=repository))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setattr(jgo.maven._core, "DEFAULT_REMOTE_REPOS", {"here": f"http://127.0.0.1:{server.server_port}"})
    yield repository
    server.shutdown()
    thread.join()
    server.server_close()


def test_fetched_once_and_said_so(remote, tmp_path):
    put(remote, CONTENT)
    said = []
    (jar,) = jars.kafka_jars(tmp_path / "cache", said.append)
    assert jar.read_bytes() == CONTENT
    assert len(said) == 1
    (remote / WITHIN).unlink()
    assert jars.kafka_jars(tmp_path / "cache", said.append) == [jar]
    assert len(said) == 1


def test_a_download_that_was_cut_short_is_fetched_again(remote, tmp_path):
    put(remote, CONTENT)
    put(tmp_path / "cache", CONTENT[:2])
    (jar,) = jars.kafka_jars(tmp_path / "cache")
    assert jar.read_bytes() == CONTENT


def test_what_maven_has_fetched_is_used_as_it_is(tmp_path):
    mine = put(tmp_path / "m2", CONTENT)
    assert jars.kafka_jars(tmp_path / "cache", pytest.fail) == [mine]


def test_a_wrong_jar_in_the_users_repository_is_left_alone_and_not_used(remote, tmp_path):
    wrong = put(tmp_path / "m2", b"tampered")
    put(remote, CONTENT)
    (jar,) = jars.kafka_jars(tmp_path / "cache")
    assert (jar.read_bytes(), wrong.read_bytes()) == (CONTENT, b"tampered")


def test_a_wrong_jar_from_the_remote_never_reaches_a_class_path(remote, tmp_path):
    put(remote, b"tampered")
    with pytest.raises(Permanent, match=r"is not the org\.example:thing:1\.0 that was locked"):
        jars.kafka_jars(tmp_path / "cache")


def test_no_network_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(jgo.maven._core, "DEFAULT_REMOTE_REPOS", {"nowhere": "http://127.0.0.1:9"})
    with pytest.raises(Permanent, match=r"Could not fetch org\.example:thing:1\.0 .*connect this machine once"):
        jars.kafka_jars(tmp_path / "cache")


def test_without_jgo_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jgo.config", None)
    with pytest.raises(Permanent, match=r"jgo, .* is not installed: run pip install 'gpuward\[local\]'"):
        jars.kafka_jars(tmp_path / "cache")


def test_the_committed_lock_pins_every_jar_and_names_no_address():
    import tomllib
    from pathlib import Path

    text = Path(jars.__file__).with_name("kafka.lock.toml").read_text()
    lock = tomllib.loads(text)
    assert len(lock["sha256"]) == 45
    assert all(len(digest) == 64 for digest in lock["sha256"].values())
    assert "://" not in text
