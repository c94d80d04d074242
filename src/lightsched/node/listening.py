"""Where does a node listen? On a socket that is bound before anything else: if that fails, nothing has begun."""

import errno
import os
import socket

from lightsched.errors import LightschedError
from lightsched.node.settings import HttpSettings

_UNDER_MAKE = "MAKELEVEL"


class CannotListen(LightschedError):
    """Cannot listen on {host} port {port} ({why}): {remedy}."""


def bind(http: HttpSettings) -> socket.socket:
    """A socket on the configured address."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            http.host, http.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # on Windows it would let two servers share a port
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(socket.SOMAXCONN)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        why = error.strerror or error
        raise CannotListen(host=http.host, port=http.port, why=why, remedy=_remedy(error)) from None
    return listening


def _remedy(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return "it is no address of this machine, give one with --host, such as 127.0.0.1, or 0.0.0.0 for all"
    flag = 'make run ARGS="--port 8081"' if _UNDER_MAKE in os.environ else "--port"
    if error.errno == errno.EACCES:
        return f"give one above 1023 with {flag}"
    return f"give another with {flag}, or stop what is using it"


def address_of(listening: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listening.getsockname()[:2]
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
