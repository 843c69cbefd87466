"""Compiled kernels are cached only where no other user can write; if that fails, they are compiled without a cache."""

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from kafka_lagoon.records import kernel_cache, kernels
from kafka_lagoon.records.host import this_host
from kafka_lagoon.records.kernel_cache import cache_folder

ROOT = Path(__file__).parents[2]
USERS_FOLDER, ENVIRON = cache_folder(), dict(os.environ)
KERNELS = """
from kafka_lagoon.records.compiler import kernel

@kernel("int64(int64, int64)")
def product(one, other):
    return one * other

@kernel("int64(int64)")
def inverse(number):
    return 100 // number  # raises for 0, which nobody hears of
"""
CALLS = """
import sys
from kafka_lagoon.records.kernel_cache import load_kernels
ours = load_kernels("ours", {"product": 2, "inverse": 1})
assert ours["product"](-6, 7) == -42
assert (ours["inverse"](7), ours["inverse"](0)) == (14, -1)
print("compiled" if "numba" in sys.modules else "loaded")
"""


@pytest.fixture(autouse=True)
def _nobody(monkeypatch, tmp_path):
    """A user without a home and without settings, but with a folder for temporary files."""
    for name in ("NUMBA_CACHE_DIR", "LAGOON_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "no"))
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))


def test_the_first_folder_that_can_be_written(monkeypatch, tmp_path):
    """A named folder comes first, then the user's cache folder, then a folder for temporary files."""
    assert cache_folder() == tmp_path / "tmp" / f"kafka-lagoon-{os.getuid()}" / "kernels"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "kafka-lagoon" / "kernels"
    monkeypatch.setenv("LAGOON_CACHE", str(tmp_path / "ours"))
    assert cache_folder() == tmp_path / "ours" / "kernels"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert cache_folder() == tmp_path / "numba"


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path):
    """The files in it are run as code, so a folder that others can write to is refused."""
    (tmp_path / "tmp" / f"kafka-lagoon-{os.getuid()}" / "kernels").mkdir(parents=True)
    cache_folder().chmod(0o777)
    with pytest.raises(OSError, match="no folder"):
        cache_folder()


@pytest.mark.parametrize("forge", ["link", "link to ours", "of another user", "for all to write"])
def test_a_folder_among_temporary_files_that_somebody_else_made(tmp_path, monkeypatch, forge):
    """Anybody can create /tmp/kafka-lagoon-UID first: it is used only if nobody else can write to it and it is no link."""
    theirs, ours = tmp_path / "tmp" / f"kafka-lagoon-{os.getuid()}", tmp_path / "elsewhere"
    (ours / "kernels").mkdir(parents=True, mode=0o700)
    match forge:
        case "link":
            theirs.symlink_to(tmp_path / "nowhere")
        case "link to ours":
            theirs.symlink_to(ours)
        case "of another user":
            (theirs / "kernels").mkdir(parents=True, mode=0o700)
            status = theirs.lstat()
            forged = os.stat_result((*status[:4], 12345, *status[5:]))
            real = Path.lstat
            monkeypatch.setattr(Path, "lstat", lambda path: forged if path == theirs else real(path))
        case _:
            (theirs / "kernels").mkdir(parents=True, mode=0o700)
            theirs.chmod(0o777)
    with pytest.raises(OSError, match="no folder"):
        cache_folder()


def test_a_link_in_place_of_the_folder(tmp_path, monkeypatch):
    """A folder that is a link is refused, unless the user has named it."""
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache_folder().parent.chmod(0o755)
    cache_folder().rmdir()
    (tmp_path / "tmp" / f"kafka-lagoon-{os.getuid()}" / "kernels").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="no folder"):
        cache_folder()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    (tmp_path / "named").symlink_to(tmp_path / "elsewhere")
    assert cache_folder() == tmp_path / "elsewhere"


def test_the_folder_among_temporary_files_is_for_us_alone():
    """Other users cannot read the folder."""
    assert [path.stat().st_mode & 0o777 for path in (cache_folder(), cache_folder().parent)] == [0o700, 0o700]


KEY = b"key"


@pytest.fixture
def kept(tmp_path):
    """Return a cached file with object code."""
    path = tmp_path / "kept.o"
    kernel_cache._keep(path, KEY, b"object code")
    assert kernel_cache._kept(path, KEY) == b"object code"
    return path


@pytest.mark.parametrize("spoil", [lambda raw: raw[:-1], lambda raw: raw + b"\0", lambda _: b"", lambda raw: raw[:20]])
def test_what_is_not_whole_is_not_run(kept, spoil):
    """A file that was truncated, or has grown, is ignored."""
    kept.write_bytes(spoil(kept.read_bytes()))
    assert kernel_cache._kept(kept, KEY) is None


def test_what_is_damaged_is_not_run(kept):
    """A file with a changed byte is ignored."""
    whole = kept.read_bytes()
    for position in range(len(whole)):
        kept.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        assert kernel_cache._kept(kept, KEY) is None


def test_what_was_made_for_something_else_is_not_run(kept):
    """A file for another version or another processor is ignored, even under the right name."""
    assert kernel_cache._kept(kept, b"another key") is None


def test_what_others_can_write_is_not_run(kept, monkeypatch):
    """Object code is run unchecked, so only this user or root may own the file, and nobody else may write to it."""
    for mode in (0o620, 0o602):
        kept.chmod(mode)
        assert kernel_cache._kept(kept, KEY) is None
    kept.chmod(0o600)
    assert kernel_cache._kept(kept, KEY)
    if os.getuid() == 0:
        os.chown(kept, 12345, -1)
        assert kernel_cache._kept(kept, KEY) is None
        monkeypatch.setattr("os.getuid", lambda: 12345)
        assert kernel_cache._kept(kept, KEY)
        os.chown(kept, 0, -1)
        assert kernel_cache._kept(kept, KEY)


def test_a_folder_that_is_full_keeps_nothing(tmp_path, monkeypatch):
    """If object code cannot be written, no part of it is left, and there is no error."""
    monkeypatch.setattr(Path, "replace", mock.Mock(side_effect=OSError("no space")))
    kernel_cache._keep(tmp_path / "tmp" / "kept.o", KEY, b"object code")
    assert not list((tmp_path / "tmp").iterdir())


def test_the_key_is_all_that_code_depends_on(monkeypatch):
    """Other sources, versions, processors and processor features have other keys."""
    host = this_host()
    keys = {
        kernel_cache._key("decode_kernel", host),
        kernel_cache._key("fields", host),
        kernel_cache._key("decode_kernel", replace(host, triple="aarch64-linux-gnu")),
        kernel_cache._key("decode_kernel", replace(host, cpu="z80")),
        kernel_cache._key("decode_kernel", replace(host, features=host.features + ",-sse2")),
    }
    for maker, name in (
        (kernel_cache, "_numba_version"),
        (kernel_cache.llvmlite, "__version__"),
        (kernel_cache.sys, "version"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(maker, name, (lambda: "0") if name == "_numba_version" else "0")
            keys.add(kernel_cache._key("decode_kernel", host))
    assert len(keys) == 8


def test_no_kernel_raises(monkeypatch):
    """numba compiles exceptions into code that needs a pickle, which is missing from the cache."""
    assert kernels.walk_batches(0, 0, 0) == 0
    key = kernel_cache._key("decode_kernel", this_host())
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(USERS_FOLDER))
    folder = kernel_cache.kept_in("decode_kernel")
    assert folder
    code = kernel_cache._kept(folder / kernel_cache._name("decode_kernel", key), key)
    assert code
    assert b".const.pickle" not in code


def test_who_decodes_needs_no_numba():
    """Another process loads the kernels that this process loaded or compiled from the user's folder."""
    code = "import sys, kafka_lagoon.records.columns; print('numba' in sys.modules)"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, check=True, env=ENVIRON, text=True).stdout == "False\n"


def run(code: str, cache: Path, path: Path) -> subprocess.Popen:
    env = {"PATH": os.environ["PATH"], "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(path)}
    command = [sys.executable, "-c", code]
    return subprocess.Popen(
        command, env=env, cwd=cache.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen) -> str:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output.strip()


def test_from_an_archive_by_two_at_once_and_then_not_again(tmp_path):
    """Spark ships Python as archives, to several processes at once; the compiled files do not depend on the path."""
    archive = tmp_path / "lagoon.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for source in sorted((ROOT / "pipeline").rglob("*.py")):
            packed.write(source, source.relative_to(ROOT / "pipeline"))
        packed.writestr("kafka_lagoon/records/ours.py", KERNELS)
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    both = [run(CALLS, cache, archive) for _ in range(2)]
    assert sorted(finish(process) for process in both) == ["compiled", "loaded"]  # one process waits for the other
    (kept,) = cache.iterdir()
    made = kept.stat().st_mtime_ns, kept.read_bytes()
    shutil.copy(archive, tmp_path / "other.zip")
    assert finish(run(CALLS, cache, tmp_path / "other.zip")) == "loaded"
    assert (kept.stat().st_mtime_ns, kept.read_bytes()) == made
    kept.write_bytes(made[1][:-1] + b"?")
    assert finish(run(CALLS, cache, archive)) == "compiled"
    assert finish(run(CALLS, cache, archive)) == "loaded"
    shutil.rmtree(cache)
    cache.touch()
    assert finish(run(CALLS, cache, archive)) == "compiled"


IN_AN_ENVIRONMENT = """
import sys
sys.prefix = "{prefix}"
from kafka_lagoon.records import kernel_cache
def ours(name="kafka_lagoon.records.kernels"):
    if name.endswith("kernels"):
        return kernel_cache.load_kernels("ours", {{"product": 2, "inverse": 1}})
    return real(name)
real, kernel_cache.import_module = kernel_cache.import_module, ours
{code}
print("compiled" if "numba" in sys.modules else "loaded")
"""


def test_an_environment_brings_kernels_along(tmp_path):
    """Kernels of `lagoon path kernels` are packed into the environment: on another machine nothing is compiled or written."""
    shutil.copytree(
        ROOT / "pipeline" / "kafka_lagoon",
        tmp_path / "kafka_lagoon",
        ignore=shutil.ignore_patterns("__pycache__", "conf", "jobs"),
    )
    (tmp_path / "kafka_lagoon" / "records" / "ours.py").write_text(KERNELS)
    cache, built, elsewhere = (tmp_path / name for name in ("cache", "built", "elsewhere"))
    compiling = IN_AN_ENVIRONMENT.format(prefix=built, code="kernel_cache.compile_for_environment()")
    assert finish(run(compiling, cache, tmp_path)) == "compiled"
    assert not cache.exists()
    built.rename(elsewhere)
    (kept,) = elsewhere.rglob("*.o")
    assert (kept.parent.stat().st_mode & 0o777, kept.stat().st_mode & 0o777) == (0o755, 0o644)
    running = IN_AN_ENVIRONMENT.format(prefix=elsewhere, code="ours()")
    assert finish(run(running, cache, tmp_path)) == "loaded"
    assert not cache.exists()
    kept.chmod(0o666)
    assert finish(run(running, cache, tmp_path)) == "compiled"
    assert list(cache.iterdir())


def test_others_reach_the_kernels_of_an_environment(tmp_path, monkeypatch):
    """Whatever the umask of the user who makes them, and whether or not it had a folder `share` before."""
    monkeypatch.setattr("sys.prefix", str(tmp_path / "built"))
    monkeypatch.setattr(kernel_cache, "import_module", lambda _: None)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    (tmp_path / "built").mkdir()
    before = os.umask(0o077)
    try:
        kernels = kernel_cache.compile_for_environment()
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (kernels, *kernels.parents[:2])] == [0o755] * 3


def test_who_installed_us_is_trusted(kept, monkeypatch):
    """An image is built by one user and run by another: the owner of our own files could change those, too."""
    if os.getuid() == 0:
        os.chown(kept, 12345, -1)
        monkeypatch.setattr(kernel_cache, "_installer", lambda: 12345)
        assert kernel_cache._kept(kept, KEY)
    monkeypatch.undo()
    assert kernel_cache._installer() == Path(kernel_cache.__file__).stat().st_uid
    monkeypatch.setattr(kernel_cache, "__file__", "/nowhere/lagoon.zip/kafka_lagoon/records/kernel_cache.py")
    assert kernel_cache._installer() == os.getuid()


def test_who_waits_hears_it_once(monkeypatch, capsys):
    """At a terminal one line is printed, for any number of modules; elsewhere nothing is printed."""
    monkeypatch.setattr(kernel_cache, "_said", [])
    kernel_cache._say_once()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(kernel_cache, "_said", [])
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for _ in range(2):
        kernel_cache._say_once()
    assert capsys.readouterr().err == f"{kernel_cache._COMPILING}\n"


def test_where_kernels_are_kept(monkeypatch, tmp_path):
    """The result is the folder that has the kernels, or None if they would have to be compiled."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(USERS_FOLDER))
    kept = kernel_cache.kept_in("walk_kernel")
    assert kept in {kernel_cache.environment_folder(), USERS_FOLDER}
    monkeypatch.setattr(kernel_cache, "environment_folder", lambda: tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(kept))
    assert kernel_cache.kept_in("walk_kernel") == kept
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    assert kernel_cache.kept_in("walk_kernel") is None
