"""A Kafka broker to play with: `python -m tests.broker`, or `make kafka`.

It runs until Ctrl-C and forgets everything then.
"""

import argparse
import signal
import tempfile
import time
from pathlib import Path

from tests.broker.local import LocalCluster


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.broker", description=__doc__)
    parser.add_argument("--port", type=int, default=9092)
    parser.add_argument("--brokers", type=int, default=1, help="more than one: only the first listens on --port")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="lightsched-kafka-") as folder:
        began = time.monotonic()
        cluster = LocalCluster(Path(folder), brokers=options.brokers, port=options.port, for_load=True)
        print(f"Kafka answers on {cluster.bootstrap} (after {time.monotonic() - began:.1f} s). In another terminal:")
        print(f"  LIGHTSCHED_LOG=kafka LIGHTSCHED_KAFKA__BOOTSTRAP={cluster.bootstrap} .venv/bin/lightsched serve")
        print(f"  LIGHTSCHED_TEST_KAFKA={cluster.bootstrap} make test")
        print("Ctrl-C ends it.", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print()
        finally:
            cluster.close()


if __name__ == "__main__":
    main()
