"""Who is told when a server that is being listened to goes away, and when it is back?"""

from lightsched.client.patience import Told
from lightsched.client.rest import Rest
from lightsched.client.sync import SyncClient


def tell(client: SyncClient, told: Told) -> None:
    """From now on. Over Kafka nobody is: its own client waits for brokers, and says nothing."""
    transport = client._client._transport  # noqa: SLF001 - for the command line only
    if isinstance(transport, Rest):
        transport.told = told
