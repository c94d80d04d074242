"""What do all parts of a client share? The way to lightsched, and the tenant that is meant where none is named."""

from lightsched.client.encoding import quoted
from lightsched.client.transport import Transport


class Connected:
    """A way to lightsched, and a tenant."""

    def __init__(self, transport: Transport, tenant: str) -> None:
        self.tenant = tenant
        self._transport = transport

    def _which(self, tenant: str | None, key: str | None) -> dict[str, str | None]:
        return {"tenant": tenant or self.tenant, "key": key}


def path_of(id: str) -> str:
    """Where an event is asked for."""
    return f"/events/{quoted('id', id)}"
