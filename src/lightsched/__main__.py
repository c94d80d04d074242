"""The command `lightsched`, which is also `python -m lightsched`."""

import signal
import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """Run a command. Ctrl-C ends it quietly, also in the moment that its imports take."""
    # In the background of a script interrupts are ignored, and stay so.
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lightsched.cli import main as run  # noqa: PLC0415

    try:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
