"""A Faust app that sends mail when lightsched says so.

faust -A mail worker --without-web        with BROKER=kafka://127.0.0.1:9092
"""

import asyncio
import os

import faust

from lightsched_faust import Deliveries, Fatal, Retry, Then

app = faust.App(
    os.environ.get("APP", "mailer"),
    broker=os.environ.get("BROKER", "kafka://127.0.0.1:9092"),
    topic_disable_leader=True,
    consumer_auto_offset_reset="earliest",
)
deliveries = Deliveries(app, prefix=os.environ.get("PREFIX", "lightsched."), name="mailer-1")


@deliveries.on("email.send")
async def send(mail, delivery):
    if "@" not in mail["to"]:
        raise Fatal(f"{mail['to']} is no address")
    if mail.get("busy") and delivery.attempt == 1:
        raise Retry("the server is busy", in_="1ms")
    await asyncio.sleep(mail.get("seconds", 0))
    print(f"to {mail['to']}", flush=True)
    following = [{"type": "email.sent", "in": "1h", "id": f"{delivery.id}-sent"}] if mail.get("follow") else []
    return Then(*following, result={"sent_to": mail["to"], "attempt": delivery.attempt})
