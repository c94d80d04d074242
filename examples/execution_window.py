"""An execution window: only on working days from nine to five, and that holds for retries, too.

A customer is to be called on Friday at 16:50. Nobody answers; the next try would be half an hour later, out of the
window. So it is made when the window opens again: on Monday at nine. Nobody wants to wait for that here, so the clock
is a virtual one: `lightsched.testing` is the real scheduler on a clock that the program moves. It needs no server.
"""

from lightsched.testing import Delivery, Scheduler

FRIDAY = "2026-01-09T00:00:00Z"


def main() -> None:
    with Scheduler(FRIDAY) as scheduler:

        @scheduler.on("window.call")
        def call(delivery: Delivery) -> str:
            print(f"{scheduler.now:%A %H:%M}  attempt {delivery.attempt}: calling {delivery.payload['customer']}")
            if delivery.attempt < 3:
                raise TimeoutError("nobody answers")
            return "sold"

        scheduler.schedule(
            id="call-ada",
            type="window.call",
            at="2026-01-09T16:50:00Z",
            window={"from": "09:00", "to": "17:00", "days": ["mon", "tue", "wed", "thu", "fri"]},
            retry={"delays": ["30m", "30m"]},
            payload={"customer": "Ada"},
        )
        scheduler.advance("4d")
        print()
        print(*scheduler.explain("call-ada"), sep="\n")


if __name__ == "__main__":
    main()
