"""How is a watched directory touched? Through descriptors that are held: names are looked up in it, and nowhere else.

    DIRECTORY/              what is dropped
        .lightsched/        what is being injected, the journal, the lock
        done/  failed/      what became of it

A file is taken by renaming it into `.lightsched`, so nobody can put another in its place while it is read. It is opened
there without following links, must be a regular file with one name, and is put away by renaming it. Nothing is ever
copied, and nothing is ever overwritten.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from lightsched.errors import LightschedError
from lightsched_files.naming import REPORT, candidates

OWN, DONE, FAILED = ".lightsched", "done", "failed"
_JOURNAL, _LOCK = "journal.json", "lock"
_NEW_JOURNAL, _NEW_REPORT = "journal.new", "report.new"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
}


class FolderInUse(LightschedError):
    """Another process watches {path} already: stop it, or give this one another directory."""


class NotAFile(Exception):
    """Something that is not to be read; the message says why."""


class NotOurs(Exception):
    """Something that is not to be taken; the message says why."""


class Dropped(NamedTuple):
    """What lies in the directory."""

    name: str
    modified_ns: int
    signature: tuple[int, int, int]  # another one: it has changed


class Folder:
    """A watched directory, locked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fds: list[int] = []
        try:
            self.fd = self._hold(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            self.own, self.done, self.failed = (
                self._hold(_inside(self.fd, name, mode))
                for name, mode in ((OWN, 0o700), (DONE, 0o777), (FAILED, 0o777))
            )
            self._names = {self.fd: "", self.own: f"{OWN}/", self.done: f"{DONE}/", self.failed: f"{FAILED}/"}
            with self._naming(self.own, _LOCK):
                self._lock()
            self._sweep()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of it, and of the lock."""
        while self._fds:
            os.close(self._fds.pop())

    def _hold(self, fd: int) -> int:
        self._fds.append(fd)
        return fd

    @contextmanager
    def _naming(self, where: int, name: str) -> Iterator[None]:
        """Whatever goes wrong, the error says in which folder."""
        try:
            yield
        except OSError as error:
            error.filename = self._names[where] + name
            raise

    def _lock(self) -> None:
        lock = os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self.own)
        self._hold(lock)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise FolderInUse(path=self.path) from None
            raise

    def _sweep(self) -> None:
        """Remove what one that was killed had half written: it may be long until the next is written over it."""
        for new in (_NEW_JOURNAL, _NEW_REPORT):
            with suppress(FileNotFoundError), self._naming(self.own, new):
                os.unlink(new, dir_fd=self.own)

    def check(self) -> None:
        """Raise if the path leads elsewhere by now: the directory was removed, or another is mounted there."""
        if not os.path.samestat(self.path.stat(), os.fstat(self.fd)):
            raise FileNotFoundError(errno.ENOENT, "is another directory by now", str(self.path))

    def dropped(self) -> Iterator[Dropped]:
        """All that lies here but directories and hidden files."""
        with os.scandir(self.fd) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                with suppress(FileNotFoundError):
                    found = entry.stat(follow_symlinks=False)
                    if not stat.S_ISDIR(found.st_mode):
                        yield Dropped(entry.name, found.st_mtime_ns, (found.st_ino, found.st_size, found.st_mtime_ns))

    def take(self, name: str, number: int) -> bool:
        """Take what is dropped, as this number; not if it is gone. Raises `NotOurs` if only its owner may do that."""
        try:
            os.rename(name, str(number), src_dir_fd=self.fd, dst_dir_fd=self.own)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno == errno.EPERM:  # a sticky directory, or a file that nobody may change
                raise NotOurs("only its owner may move it, and that is somebody else") from None
            raise
        return True

    def open(self, number: int) -> int:
        """What was taken, to read. Raises `NotAFile` if that is not to be done."""
        found = os.stat(str(number), dir_fd=self.own, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            raise NotAFile(f"is {_KINDS.get(stat.S_IFMT(found.st_mode), 'no file')}: drop a regular file")
        if found.st_nlink > 1:
            raise NotAFile(f"has {found.st_nlink} names (hard links), and could be changed under another: drop a copy")
        try:
            return os.open(str(number), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.own)
        except PermissionError:
            raise NotAFile("cannot be read: its permissions do not allow it") from None

    def holds(self, number: int) -> bool:
        """Is it still here?"""
        return _is_there(str(number), self.own)

    def free_name(self, name: str, taken: frozenset[str]) -> str:
        """What it can be called in `done` and `failed`, and its report in `failed`; `taken`: names of others."""
        reserved = taken | {name + REPORT for name in taken}
        return next(
            name
            for name in candidates(name)
            if name not in reserved
            and name + REPORT not in reserved
            and not _is_there(name, self.done)
            and not _is_there(name, self.failed)
            and not _is_there(name + REPORT, self.failed)
        )

    def put(self, number: int, where: int, name: str) -> bool:
        """Move what was taken to its place; not if something is there."""
        if not self.holds(number):
            return True
        with self._naming(where, name):
            try:
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=where))
            except FileExistsError:
                there = os.stat(name, dir_fd=where, follow_symlinks=False)
                if there.st_size or not stat.S_ISREG(there.st_mode):  # otherwise it is the place kept before a crash
                    return False
            os.rename(str(number), name, src_dir_fd=self.own, dst_dir_fd=where)
        return True

    def put_back(self, number: int, name: str) -> None:
        """Leave it where it was dropped, to be taken again later."""
        next(name for name in candidates(name) if self.put(number, self.fd, name))

    def report(self, name: str, text: str) -> None:
        """Say in `failed` what is wrong with a file."""
        self._write(_NEW_REPORT, text.encode(errors="backslashreplace"), self.failed, name + REPORT)

    @property
    def journal(self) -> Path:
        """Where the journal is."""
        return self.path / OWN / _JOURNAL

    def numbers(self) -> list[int]:
        """What was taken, and is still here."""
        with os.scandir(self.own) as entries:
            return sorted(int(entry.name) for entry in entries if entry.name.isdecimal())

    def sync(self) -> None:
        """Make it durable that files were taken, before anything of them is sent."""
        os.fsync(self.own)

    def load(self) -> bytes:
        """The journal, if there is one."""
        try:
            fd = os.open(_JOURNAL, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.own)
        except FileNotFoundError:
            return b""
        with os.fdopen(fd, "rb") as journal:
            return journal.read()

    def save(self, journal: bytes) -> None:
        """Write the journal, whole or not at all."""
        for fd in (self.done, self.failed):
            os.fsync(fd)
        self._write(_NEW_JOURNAL, journal, self.own, _JOURNAL)

    def _write(self, new: str, content: bytes, where: int, name: str) -> None:
        """Whole or not at all: what is half written would only take up room."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._naming(where, name):
            fd = os.open(new, flags, 0o644, dir_fd=self.own)
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(fd)
                os.rename(new, name, src_dir_fd=self.own, dst_dir_fd=where)
            except OSError:
                with suppress(OSError):
                    os.unlink(new, dir_fd=self.own)
                raise
            os.fsync(where)


def _inside(fd: int, name: str, mode: int) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, mode, dir_fd=fd)
    try:
        return os.open(name, _DIRECTORY, dir_fd=fd)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OSError(error.errno, f"{name} must be a directory, and no link to one") from None
        raise


def _is_there(name: str, fd: int) -> bool:
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
