"""Deliveries that nobody has delivered."""

from lightsched.executor.taken import Taken


def taken(key="k", type="t", *, offset=0, attempt=1, value=b"", timeout_ms=0, place=("topic", 0), **headers):
    own = {name: text.encode() for name, text in headers.items()}
    own |= {
        "ce_id": f"0:default//{key}/1/{offset}#{attempt}".encode(),
        "ce_type": type.encode(),
        "ls_tenant": b"default",
    }
    own |= {"ls_attempt": b"%d" % attempt}
    if timeout_ms:
        own["ls_timeout"] = b"%d" % timeout_ms
    return Taken(place, offset, key.encode(), value, own)
