"""How does a program end with the one that started it, even if that one is killed?

`python tether.py <pid of the parent> <program> <arguments>` asks the kernel for a SIGKILL when the parent ends, and
then *becomes* the program: same pid, no process in between. (A `preexec_fn` would do the same, but Python warns about
it in a process with threads.) Elsewhere than on Linux it only becomes the program.

The kernel means the parent's *thread*: start it from one that stays.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL):
            sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
        if os.getppid() != parent:  # it ended before the kernel knew
            sys.exit("the parent is gone")
    os.execvp(program[0], program)


if __name__ == "__main__":
    main()
