"""How does a receiver know who sends? By a signature as Standard Webhooks has it (standardwebhooks.com).

webhook-id         the same for every attempt: what a receiver goes by to do nothing twice
webhook-timestamp  seconds since 1970: what is too old is somebody else sending it again
webhook-signature  `v1,` and the HMAC-SHA256 of `id.timestamp.body`, one for each secret, so that secrets can change
"""

import hmac
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Sequence
from hashlib import sha256

PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64


def secret(text: str) -> bytes:
    """The key in `whsec_` and base64. Raises `ValueError`."""
    encoded = text.removeprefix(PREFIX)
    try:
        key = b64decode(encoded, validate=True)
    except (Error, ValueError):
        key = b""
    if encoded == text or not SHORTEST <= len(key) <= LONGEST:
        raise ValueError(f"a secret is `{PREFIX}` and {SHORTEST} to {LONGEST} bytes in base64")
    return key


def message_id(run: str) -> str:
    """One for all attempts of a run; without dots, which separate the parts that are signed."""
    return run.replace(".", "%2E")


def signed(message: str, timestamp_s: int, body: bytes, secrets: Sequence[bytes]) -> dict[str, str]:
    """The headers that say who sends."""
    content = b"%b.%d.%b" % (message.encode(), timestamp_s, body)
    signatures = (b64encode(hmac.digest(key, content, sha256)).decode() for key in secrets)
    return {
        "webhook-id": message,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
