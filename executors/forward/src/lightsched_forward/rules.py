"""Which rule does a delivery match, and what is passed on?"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from pydantic import Field

from lightsched.settings import Section


class Rule(Section):
    """What is passed on, and where to. All that is said of a delivery must match; `*` stands for anything."""

    type: str = "*"  # `order.paid`, `order.*`
    tenant: str = "*"
    key: str = "*"
    headers: dict[str, str] = Field({})  # name → what its value must look like
    to: tuple[str, ...] = Field(min_length=1, max_length=16)  # topics
    rename: str | None = None  # the type that is passed on; `{type}` stands for the one that came
    stop: bool = False  # no rule after this one is looked at

    def matches(self, type: str, tenant: str, key: str, headers: Mapping[str, str]) -> bool:
        """Is a delivery meant?"""
        return (
            _like(type, self.type)
            and _like(tenant, self.tenant)
            and _like(key, self.key)
            and all(name in headers and _like(headers[name], pattern) for name, pattern in self.headers.items())
        )

    def renamed(self, type: str) -> str:
        """The type that is passed on."""
        return type if self.rename is None else self.rename.replace("{type}", type)


def _like(text: str, pattern: str) -> bool:
    # `[` has a meaning for fnmatch, and none for people who write types and tenants.
    return fnmatchcase(text, pattern.replace("[", "[[]"))
