"""Deliveries that nobody has delivered."""

from lightsched.executor.taken import Taken


def taken(key="k", type="t", *, offset=0, value=b"", timeout_ms=0, place=("topic", 0), **headers):
    own = {name: text.encode() for name, text in headers.items()}
    own |= {"ce_id": f"0:default//{key}/1/{offset}#1".encode(), "ce_type": type.encode(), "ls_tenant": b"default"}
    if timeout_ms:
        own["ls_timeout"] = b"%d" % timeout_ms
    return Taken(place, offset, key.encode(), value, own)
