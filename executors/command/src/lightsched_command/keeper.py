"""Who sees to it that nothing is left behind? A process between the executor and the program, for one run.

The keeper is the reaper of all that the program starts: what detaches itself (`setsid`, a double fork) becomes its
child. So all that lives below it belongs to this run, and nothing else does; when the program ends, or the executor
says so, or the executor is gone, it kills all of that. Only Linux knows reapers; elsewhere its process group is killed.

    python -I -S keeper.py CONTROL PROGRAM ARGUMENT…

CONTROL is the descriptor of a pipe: `T` asks the program to end (SIGTERM), its end means that all of it must. The
keeper ends as the program did, by the shell's rule: its code, or 128 and the signal; 126 if it cannot be started.

This file is run by itself, so it imports little: a run costs the start of a bare interpreter.
"""
# ruff: noqa: PTH112, PTH123, PTH208, SIM105 -- pathlib and contextlib would take longer to import than all the rest

import os
import select
import signal
import sys

NOT_STARTED = 126
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # they are the executor's to deal with
_SET_CHILD_SUBREAPER = 36


def main(control: int, program: list[str]) -> int:
    """Run a program, and end with it."""
    os.set_inheritable(control, False)
    become_reaper()
    told, telling = os.pipe()
    for end in (told, telling):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    try:
        child = os.posix_spawn(program[0], program, given(), setpgroup=0, setsigdef=[*IGNORED, signal.SIGPIPE])
    except OSError as error:
        os.write(2, f"{program[0]} cannot be started: {error.strerror}\n".encode())
        return NOT_STARTED
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    try:
        return watch(child, control, told)
    finally:
        kill_group(child, signal.SIGKILL)
        kill_all_below()


def watch(child: int, control: int, told: int) -> int:
    """Wait for the end of the program, or the order to end it."""
    poll = select.poll()
    poll.register(control, select.POLLIN | select.POLLHUP)
    poll.register(told, select.POLLIN)
    while True:
        ended = reap(child)
        if ended is not None:
            return ended
        for ready, _ in poll.poll():
            if ready == told:
                os.read(told, 4096)
            elif os.read(control, 1) == b"T":
                kill_group(child, signal.SIGTERM)
            else:
                return 128 + signal.SIGKILL


def reap(child: int) -> "int | None":
    """Take note of all that has ended; how the program did, if it has."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == 0:
            return None
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def given() -> "dict[bytes, bytes]":
    """The environment as it was given: an interpreter that starts in the locale `C` changes its own."""
    try:
        with open("/proc/self/environ", "rb") as environ:
            pairs = (each.partition(b"=") for each in environ.read().split(b"\0") if each)
            return {name: value for name, _, value in pairs}
    except OSError:
        return dict(os.environb)


def become_reaper() -> None:
    """Let those whose parent ends become children of this process."""
    if sys.platform == "linux":
        from ctypes import CDLL  # noqa: PLC0415

        CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_group(leader: int, number: int) -> None:
    """The program and what stayed in its group."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass


def kill_all_below() -> None:
    """Kill until there is nobody left. Whoever is forked meanwhile is found by the next look."""
    me = os.getpid()
    while True:
        found = below(me, parents())
        killed = [pid for pid in found if kill(pid)]
        if found and not killed:
            return  # they belong to somebody else, and cannot be killed from here
        try:
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def kill(pid: int) -> bool:
    """Kill a process, if this one may."""
    try:
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        return False
    except ProcessLookupError:
        pass
    return True


def parents() -> "dict[int, int]":
    """The parent of each process."""
    found = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    found[int(name)] = int(stat.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                pass
    return found


def below(ancestor: int, parents: "dict[int, int]") -> "list[int]":
    """All that descend from a process."""
    known = {ancestor}
    grows = True
    while grows:
        more = {pid for pid, parent in parents.items() if parent in known} - known
        known |= more
        grows = bool(more)
    return sorted(known - {ancestor})


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1]), sys.argv[2:]))  # its own output is closed: there is nothing to flush
