"""Which addresses may be asked? Those of the public internet, and what the settings allow.

1. Resolve a name, once.
2. Look at every address it has: if one is not allowed, nobody is asked.
3. Connect to what was looked at. There is no second resolving whose answer could be another one (DNS rebinding).

All of it happens where connections are made, so that no request can get round it: `Guard` is the only way out.
"""

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from httpcore import AnyIOBackend, AsyncNetworkBackend, AsyncNetworkStream, ConnectError, ConnectTimeout

from lightsched.errors import LightschedError

Address = IPv4Address | IPv6Address

MOST_ADDRESSES = 16

# IANA's registries of special purpose addresses. Written down here: Python's `is_global` differs between its versions.
_NOT_PUBLIC = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared by a provider's customers",
    "127.0.0.0/8": "this machine",
    "169.254.0.0/16": "link-local, where clouds keep their metadata",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "for documentation",
    "192.88.99.0/24": "reserved",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "for benchmarks",
    "198.51.100.0/24": "for documentation",
    "203.0.113.0/24": "for documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
    "::/128": "this machine",
    "::1/128": "this machine",
    "fc00::/7": "private",
    "fe80::/10": "link-local",
    "fec0::/10": "private",
    "ff00::/8": "multicast",
    "2001::/23": "reserved",
    "2001:db8::/32": "for documentation",
    "2002::/16": "a way into IPv4 (6to4)",
    "3fff::/20": "for documentation",
}
_TABLE = [(ip_network(network), what) for network, what in _NOT_PUBLIC.items()]
_PUBLIC_V6 = IPv6Network("2000::/3")
_MAPPED, _NAT64 = IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96")


class NotAllowed(LightschedError):
    """{host} is not asked: {address} is {what}. If that is meant, allow {host!r} or its network in the settings."""


class NotResolved(LightschedError):
    """{host} has no address: {why}."""


def why_not(address: Address) -> str:
    """Why this is no address of the public internet; empty: it is one."""
    for network, what in _TABLE:
        if address in network:
            return what
    if isinstance(address, IPv4Address):
        return ""
    if address in _MAPPED or address in _NAT64:
        inside = IPv4Address(int(address) & 0xFFFF_FFFF)
        what = why_not(inside)
        return f"{what} ({inside} written as IPv6)" if what else ""
    return "" if address in _PUBLIC_V6 else "reserved"


class Allowed:
    """What the settings allow besides the public internet: names of hosts, addresses and networks."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._names: set[str] = set()
        self._networks: list[IPv4Network | IPv6Network] = []
        for entry in entries:
            try:
                self._networks.append(ip_network(entry))
            except ValueError:
                if "/" in entry or not entry.strip("."):
                    raise
                self._names.add(entry.lower())

    def __contains__(self, asked: tuple[str, Address]) -> bool:
        name, address = asked
        return name in self._names or any(address in network for network in self._networks)


class Guard(AsyncNetworkBackend):
    """Connects to allowed addresses only."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._network = AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        """Connect to the first address that answers. Raises `NotAllowed`, `NotResolved`, or what httpcore does."""
        addresses = await self.addresses(host, port, timeout)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (ConnectError, ConnectTimeout):
                continue
        return await self._network.connect_tcp(str(addresses[-1]), port, timeout, local_address, socket_options)

    async def addresses(self, host: str, port: int, timeout_s: float | None = None) -> list[Address]:
        """All addresses of a host, if each of them may be asked."""
        found = await _resolve(host, port, timeout_s)
        for address in found:
            what = why_not(address)
            if what and (host, address) not in self._allowed:
                raise NotAllowed(host=host, address=address, what=what)
        return found


async def _resolve(host: str, port: int, timeout_s: float | None) -> list[Address]:
    try:
        return [ip_address(host)]
    except ValueError:
        pass
    try:
        async with asyncio.timeout(timeout_s):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise NotResolved(host=host, why=f"the name server did not answer within {timeout_s:g} s") from None
    except OSError as error:  # a name that cannot be looked up is not asked in some other way
        raise NotResolved(host=host, why=error.strerror or str(error)) from None
    except UnicodeError as error:
        raise NotResolved(host=host, why=str(error)) from None
    # An address with a zone is link-local: without the zone it is refused by the table, and named there.
    addresses = dict.fromkeys(ip_address(str(place[0]).partition("%")[0]) for *_, place in found)
    return list(addresses)[:MOST_ADDRESSES]
