"""lightsched-faust: Faust agents that act on deliveries, and report back.

app = faust.App("mailer", broker="kafka://127.0.0.1:9092")
deliveries = Deliveries(app)

@deliveries.on("email.send")
async def send(payload, delivery): ...
"""

from lightsched_faust.deliveries import Deliveries
from lightsched_faust.delivery import Delivery
from lightsched_faust.report import Fatal, Retry, Then

__all__ = ["Deliveries", "Delivery", "Fatal", "Retry", "Then"]
