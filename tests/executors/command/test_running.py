"""Does a program run as it should, and does it leave nothing behind?"""

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest
import uvloop

from lightsched_command.output import Kept
from lightsched_command.running import Command, Limits, _feed, run

PATIENT = Limits(timeout_s=60, grace_s=60, output=1000)


def python(source, stdin=b"", environment=None, limits=PATIENT, folder=Path("/")):
    return run(Command([sys.executable, "-c", source], environment or {}, folder), stdin, limits)


async def test_input_output_and_code_are_those_of_the_program(tmp_path):
    source = "import os, sys; print(sys.stdin.read().upper(), os.getcwd()); print('oops', file=sys.stderr); sys.exit(3)"
    ended = await python(source, b"hello", folder=tmp_path)
    assert (ended.code, ended.timed_out) == (3, False)
    assert ended.output.text() == f"HELLO {tmp_path}\n"
    assert ended.errors.text() == "oops\n"


async def test_there_is_no_shell():
    ended = await run(Command(["/bin/echo", "$HOME", "`id`", "a;b", "*", ">x"], {}), b"", PATIENT)
    assert ended.output.text() == "$HOME `id` a;b * >x\n"


async def test_the_environment_is_clean(monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    ended = await run(Command(["/usr/bin/env"], {"A": "1"}), b"", PATIENT)
    assert ended.output.text() == "A=1\n"


async def test_it_has_no_other_file_open_than_its_own_three():
    ended = await run(Command(["/bin/ls", "/proc/self/fd"], {}), b"", PATIENT)
    assert ended.output.text().split() == ["0", "1", "2", "3"], "the last is the folder that it looks into"


async def test_signals_reach_it_as_any_program():
    source = "import signal; print([signal.getsignal(n).name for n in (signal.SIGTERM, signal.SIGHUP)])"
    assert (await python(source)).output.text() == "['SIG_DFL', 'SIG_DFL']\n"


async def test_a_signal_that_ends_it_is_told_as_by_a_shell():
    ended = await python("import os; os.kill(os.getpid(), 11)")
    assert (ended.code, ended.timed_out) == (128 + signal.SIGSEGV, False)


@pytest.mark.parametrize("program", ["/no/such/program", "/etc/passwd"])
async def test_what_cannot_be_started_says_so(program):
    ended = await run(Command([program], {}), b"x" * 1_000_000, PATIENT)
    assert not ended.started
    assert f"{program} cannot be started" in ended.errors.text()


async def test_much_input_and_much_output_at_the_same_time_do_not_block_each_other():
    source = "import sys\nwhile chunk := sys.stdin.buffer.read(4096): sys.stdout.buffer.write(chunk * 2)"
    ended = await python(source, b"x" * 3_000_000)
    assert ended.code == 0
    assert ended.output.cut == 6_000_000 - 2_000


async def test_a_program_need_not_read_its_input():
    assert (await python("pass", b"x" * 3_000_000)).code == 0


async def test_at_the_timeout_it_may_end_by_itself():
    source = "import signal, sys, time\nsignal.signal(15, lambda *_: sys.exit(print('bye')))\ntime.sleep(600)"
    ended = await python(source, limits=Limits(timeout_s=2, grace_s=60, output=1000))
    assert (ended.timed_out, ended.code) == (True, 0)
    assert ended.output.text().endswith("bye\n")


# Starts some that live on: one that stays, one in a session of its own, one that forks twice; and says who they are.
FAMILY = """
import os, signal, subprocess, sys, time
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
pids = []
def start(detach):
    r, w = os.pipe()
    if os.fork() == 0:
        if detach: os.setsid()
        if detach == 2 and os.fork(): os._exit(0)
        os.write(w, str(os.getpid()).encode())
        time.sleep(600)
    pids.append(os.read(r, 20).decode())
for detach in (0, 1, 2): start(detach)
print(os.getpid(), *pids, flush=True)
"""


def first_line(file):
    with file.open() as lines:
        return lines.readline()


def alive(pids):
    found = []
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        except psutil.NoSuchProcess:
            pass
    return found


async def test_at_the_timeout_it_is_killed_with_all_that_it_started():
    ended = await python(FAMILY + "time.sleep(600)", limits=Limits(timeout_s=3, grace_s=0.1, output=1000))
    assert (ended.timed_out, ended.code) == (True, 128 + signal.SIGKILL)
    pids = [int(pid) for pid in ended.output.text().split()]
    assert (len(pids), alive(pids)) == (4, [])


async def test_when_it_ends_what_it_started_ends_too():
    ended = await python(FAMILY)
    pids = [int(pid) for pid in ended.output.text().split()]
    assert (ended.code, len(pids), alive(pids)) == (0, 4, [])


async def test_a_run_that_is_cancelled_leaves_nothing_behind(tmp_path):
    said = tmp_path / "said"
    os.mkfifo(said)
    task = asyncio.create_task(
        python(f"import sys; sys.stdout = open({str(said)!r}, 'w')" + FAMILY + "time.sleep(600)")
    )
    pids = [int(pid) for pid in (await asyncio.to_thread(first_line, said)).split()]
    assert len(alive(pids)) == 4
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(pids) == []


async def test_an_executor_that_is_killed_leaves_nothing_behind(tmp_path):
    said = tmp_path / "said"
    os.mkfifo(said)
    program = f"import sys; sys.stdout = open({str(said)!r}, 'w')" + FAMILY + "time.sleep(600)"
    source = (
        "import asyncio; from lightsched_command.running import Command, Limits, run\n"
        f"asyncio.run(run(Command([{sys.executable!r}, '-c', {program!r}], {{}}), b'', Limits(600, 1, 10)))"
    )
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", source)
    pids = [int(pid) for pid in (await asyncio.to_thread(first_line, said)).split()]
    family = [psutil.Process(pid) for pid in alive(pids)]
    assert len(family) == 4
    killed.kill()
    await killed.wait()
    _, left = await asyncio.to_thread(psutil.wait_procs, family, timeout=60)
    assert left == []


@pytest.mark.parametrize(
    "chunks",
    [
        [b"0123456789abcdefghij"],
        [b"0123", b"4567", b"89ab", b"cdef", b"ghij"],
        [b"%c" % c for c in b"0123456789abcdefghij"],
    ],
)
def test_beginning_and_end_are_kept(chunks):
    kept = Kept(4)
    for chunk in chunks:
        kept.add(chunk)
    assert (kept.cut, kept.tail) == (12, b"ghij")
    assert kept.text() == "0123\n… 12 bytes were cut here …\nghij"


def test_what_fits_is_kept_as_it_is():
    kept = Kept(4)
    for chunk in (b"012", b"345", b"67"):
        kept.add(chunk)
    assert (kept.cut, kept.text()) == (0, "01234567")


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("stdin", [b"", b"nobody reads it"])
def test_a_program_that_is_over_before_it_is_fed_has_not_failed(loop, stdin):
    async def feed():
        process = await asyncio.create_subprocess_exec("true", stdin=asyncio.subprocess.PIPE)
        await process.wait()
        while not process.stdin.transport.is_closing():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
        await asyncio.wait_for(_feed(process.stdin, stdin), 10)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(feed())
