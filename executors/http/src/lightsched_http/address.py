r"""What does a URL point at? Read so strictly that no two programs could read it differently.

Every trick to smuggle an address past a check lives in a spelling that one parser takes for one thing and the next for
another: `http://127.1`, `0x7f.1`, `2130706433`, `a@b`, `a\@b`, `[fe80::1%eth0]`, full-width digits. So there is one
spelling for each thing here, what is sent is made from the parts that were read, and nothing reads the text again.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple

from lightsched.errors import LightschedError

LONGEST = 8192
PORTS = {"http": 80, "https": 443}

_PRINTABLE = re.compile(r"[!-~]+")
_URL = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<target>[^#]*)(?:#.*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?:\[(?P<v6>[^\[\]]*)\]|(?P<name>[^:\[\]]*))(?::(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class BadUrl(LightschedError):
    """{url!r} is not asked: {why}."""


class Url(NamedTuple):
    """The parts of a URL, each in its one spelling."""

    scheme: str
    host: str
    """A name in lower case, or an address as `ipaddress` writes it."""
    port: int
    target: str
    """Path and query."""

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The address, where the host is one and not a name."""
        if ":" in self.host:
            return IPv6Address(self.host)
        return IPv4Address(self.host) if _is_number(self.host) else None

    @property
    def authority(self) -> str:
        """As the `Host` header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def parse(text: str) -> Url:
    """Take a URL apart. Raises `BadUrl`."""

    def bad(why: str) -> BadUrl:
        return BadUrl(url=text[:200], why=why)

    if len(text) > LONGEST:
        raise bad(f"it has {len(text)} characters, the limit is {LONGEST}")
    if not _PRINTABLE.fullmatch(text):
        raise bad("a URL is printable ASCII: write other characters of a path as %XX, and a name as `xn--…`")
    match = _URL.fullmatch(text)
    if match is None:
        raise bad("it must begin with http:// or https://")
    authority = match["authority"]
    if "@" in authority:
        raise bad("it has a user or password before the host: send an `authorization` header")
    if "\\" in text:
        raise bad("it has a backslash, which programs read differently: write %5C")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise bad("host and port are not understood: write host, host:port, or [address]:port for IPv6")
    scheme = match["scheme"].lower()
    port = PORTS[scheme] if parts["port"] is None else int(parts["port"])
    if not 1 <= port <= 65535:
        raise bad(f"there is no port {port}")
    try:
        host = _name(parts["name"].lower()) if parts["v6"] is None else _v6(parts["v6"])
    except ValueError as error:
        raise bad(str(error)) from None
    target = match["target"]
    return Url(scheme, host, port, target if target.startswith("/") else f"/{target}")


def _v6(text: str) -> str:
    if "%" in text:
        raise ValueError("its IPv6 address has a zone, which only means something on one machine")
    try:
        return str(IPv6Address(text))
    except AddressValueError:
        raise ValueError(f"{text!r} is no IPv6 address") from None


def _name(text: str) -> str:
    """A name, or an IPv4 address: what ends in a number is one, and then it is four decimal ones or refused."""
    if _is_number(text):
        try:
            return str(IPv4Address(text))
        except AddressValueError:
            raise ValueError(
                f"{text!r} is an odd spelling of an address: write four decimal numbers without leading zeros"
            ) from None
    if len(text) > 253 or not all(map(_LABEL.fullmatch, text.split("."))):
        raise ValueError(f"{text!r} is no host name")
    return text


def _is_number(host: str) -> bool:
    return _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]) is not None
