"""The cache of contents at a peer: what is whole, what still arrives, what has to go."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import pytest

from runtime.peers.errors import Refused
from runtime.peers.model import Reason
from runtime.peers.staging.cache import ContentCache


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def bring(cache: ContentCache, data: bytes) -> str:
    digest = digest_of(data)
    assert cache.append(digest, len(data), 0, data) == len(data)
    return digest


@pytest.fixture
def cache(tmp_path: Path) -> ContentCache:
    return ContentCache(tmp_path / "cache", 1000)


def test_a_content_is_there_as_a_whole_once_its_last_piece_has_arrived(
    cache: ContentCache,
) -> None:
    digest = digest_of(b"hello")
    assert cache.append(digest, 5, 0, b"hel") == 3
    assert (cache.path(digest), cache.held(digest), cache.read(digest, 1, 9)) == (None, 3, b"el")
    assert cache.append(digest, 5, 3, b"lo") == 5
    path = cache.path(digest)
    assert path is not None
    assert path.read_bytes() == b"hello"
    assert cache.read(digest, 5, 9) == b""


def test_an_empty_content_is_a_content(cache: ContentCache) -> None:
    digest = bring(cache, b"")
    assert cache.path(digest) is not None


def test_a_piece_that_does_not_begin_where_the_last_one_ended_says_where_to_go_on(
    cache: ContentCache,
) -> None:
    digest = digest_of(b"hello")
    assert cache.append(digest, 5, 2, b"llo") == 0
    assert cache.append(digest, 5, 0, b"he") == 2
    assert cache.append(digest, 5, 0, b"he") == 2


def test_a_transfer_goes_on_where_it_ended_after_the_daemon_was_started_again(
    cache: ContentCache,
) -> None:
    digest = digest_of(b"hello")
    cache.append(digest, 5, 0, b"hel")
    again = ContentCache(cache.folder, 1000)
    assert again.held(digest) == 3
    assert again.append(digest, 5, 3, b"lo") == 5
    assert again.path(digest) is not None


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="it counts what this process reads")
def test_what_has_arrived_is_not_read_again_for_each_piece(tmp_path: Path) -> None:
    cache, data, piece = ContentCache(tmp_path / "cache", 1 << 30), os.urandom(1 << 20), 1 << 12
    digest = digest_of(data)
    before = bytes_read()
    for offset in range(0, len(data), piece):
        cache.append(digest, len(data), offset, data[offset : offset + piece])
    assert cache.path(digest) is not None
    assert bytes_read() - before < len(data)


def bytes_read() -> int:
    """Return how many bytes this process has read from files so far."""
    return int(Path("/proc/self/io").read_text().split()[1])


def test_what_has_another_digest_than_it_was_said_to_have_is_not_kept(cache: ContentCache) -> None:
    digest = digest_of(b"hello")
    with pytest.raises(Refused, match="another SHA-256"):
        cache.append(digest, 5, 0, b"jello")
    assert cache.held(digest) == 0
    assert [one for one in cache.folder.rglob("*") if one.is_file()] == []


@pytest.mark.parametrize(("size", "data"), [(5000, b""), (500, b"x"), (5, b"jell"), (4, b"hell")])
def test_nobody_spoils_what_another_brings(cache: ContentCache, size: int, data: bytes) -> None:
    digest = digest_of(b"hello")
    assert cache.append(digest, 5, 0, b"h", who="user:alice") == 1
    with suppress(Refused):
        cache.append(digest, size, 0, data, who="user:mallory")
    assert cache.held(digest, "user:alice") == 1
    assert cache.append(digest, 5, 1, b"ello", who="user:alice") == 5
    assert [cache.held(digest, who) for who in ("", "user:alice", "user:mallory")] == [5, 5, 5]
    assert [one.name for one in cache.folder.rglob("*") if one.is_file()] == [digest]


def test_what_is_longer_than_it_was_said_to_be_is_refused(cache: ContentCache) -> None:
    with pytest.raises(Refused, match="longer than"):
        cache.append(digest_of(b"hello"), 5, 0, b"hello!")


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "\n"])
def test_what_is_no_digest_names_no_file(cache: ContentCache, name: str) -> None:
    for use in (cache.held, cache.path, lambda one: cache.append(one, 1, 0, b"x")):
        with pytest.raises(Refused, match="is not a SHA-256"):
            use(name)


def test_contents_not_used_for_the_longest_time_make_room_for_new_ones(
    cache: ContentCache,
) -> None:
    first, second = bring(cache, b"1" * 400), bring(cache, b"2" * 400)
    for age, digest in ((100, first), (200, second)):
        path = cache.path(digest)
        assert path is not None
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    assert cache.path(second) is not None  # used just now
    third = bring(cache, b"3" * 400)
    assert [cache.path(one) is not None for one in (first, second, third)] == [False, True, True]


def test_a_content_larger_than_the_cache_is_refused_before_anything_is_written(
    cache: ContentCache,
) -> None:
    kept = bring(cache, b"x" * 900)
    with pytest.raises(Refused, match=r"no room for files in .*cache: 1001 bytes") as caught:
        cache.append(digest_of(b"y" * 1001), 1001, 0, b"y")
    assert caught.value.reason == Reason.DISK
    assert cache.path(kept) is not None


def test_contents_that_still_arrive_count_with_all_their_bytes(cache: ContentCache) -> None:
    first, second = (bytes([n]) * 600 for n in range(2))
    for offset in range(600):
        cache.append(digest_of(first), 600, offset, first[offset : offset + 1])
        if offset < 599:
            with pytest.raises(Refused, match="others that arrive now take all of it"):
                cache.append(digest_of(second), 600, 0, second[:1])
    assert cache.path(digest_of(first)) is not None, "who came later did not remove it"
    bring(cache, second)
    assert cache.path(digest_of(first)) is None


def test_what_has_come_in_part_makes_room_when_nobody_has_sent_more_for_a_while(
    tmp_path: Path,
) -> None:
    now = [0.0]
    cache = ContentCache(tmp_path / "cache", 1000, lambda: now[0])
    abandoned = digest_of(b"1" * 600)
    cache.append(abandoned, 600, 0, b"1")
    now[0] = 61.0
    bring(cache, b"2" * 600)
    assert cache.held(abandoned) == 0


def test_a_content_does_not_become_longer_than_it_was_said_to_be_first(cache: ContentCache) -> None:
    digest = digest_of(b"x" * 900)
    cache.append(digest, 10, 0, b"x")
    with pytest.raises(Refused, match="was said to have 10 bytes before, and 900 now"):
        cache.append(digest, 900, 1, b"x")


@pytest.mark.needs_root
@pytest.mark.skipif(os.getuid() != 0, reason="mounts a file system")
def test_a_disk_that_is_full_is_a_located_error_and_leaves_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.system(f"mount -t tmpfs -o size=20m tmpfs {disk} 2>/dev/null") != 0:
        pytest.skip("nothing can be mounted here")
    try:
        cache = ContentCache(disk / "cache", 1 << 30)
        data = b"z" * (6 << 20)
        with pytest.raises(Refused, match=f"no room for files in {disk}/cache") as caught:
            cache.append(digest_of(data), len(data), 0, data)
        assert caught.value.reason == Reason.DISK
        (disk / "other").write_bytes(b"o" * (1 << 20))
        assert [one for one in cache.folder.rglob("*") if one.is_file()] == []
    finally:
        os.system(f"umount {disk}")
