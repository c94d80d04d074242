"""Which event is meant? Its identity: tenant, key and id.

On the hot path an identity is one `bytes` value, `tenant NUL key NUL id`: it is the key of the store, the value of the
due index and the key of every dictionary of a step, so it is built once and never converted. None of the three parts
may hold a control character, which makes NUL a safe separator and the byte order the order of the lists.
"""

from typing import TYPE_CHECKING, NewType

if TYPE_CHECKING:
    Identity = NewType("Identity", bytes)
else:
    Identity = bytes  # what a NewType calls in order to do nothing takes longer than making an identity

SEPARATOR = "\0"


def identity(tenant: str, key: str, id: str) -> Identity:
    """The identity of the event `id` of entity `key`."""
    return Identity(f"{tenant}\0{key}\0{id}".encode())


def parts(value: Identity) -> tuple[str, str, str]:
    """Tenant, key and id of an identity."""
    tenant, key, id_ = value.decode().split(SEPARATOR)
    return tenant, key, id_


def tenant_of(value: Identity) -> str:
    """The tenant alone, without decoding the rest."""
    return value[: value.index(0)].decode()
