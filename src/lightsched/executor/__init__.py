"""How do services act on what is delivered? `Executor` takes deliveries, calls the function for each, and reports.

executor = Executor("http://127.0.0.1:8080")

@executor.on("email.send")
async def send(mail: Mail, context: Context) -> dict[str, str]:
...

executor.main()

Source ─► Taken ─► Lanes ─► Crew ─► Route ─► Report ─► Source
(REST, Kafka)   (order per key) (concurrency) (your function)
"""

from lightsched.executor.context import Context
from lightsched.executor.executor import Executor
from lightsched.executor.outcomes import Fatal, Retry, Then
from lightsched.executor.replies import REPLY_TO
from lightsched.executor.routes import BadFunction, TypeTaken
from lightsched.executor.seen import Remembers, Seen, once

__all__ = [
    "REPLY_TO",
    "BadFunction",
    "Context",
    "Executor",
    "Fatal",
    "Remembers",
    "Retry",
    "Seen",
    "Then",
    "TypeTaken",
    "once",
]
