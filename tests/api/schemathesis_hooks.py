"""What schemathesis does not know by itself: how to send one JSON value a line."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def ndjson(_context, value):
    return value if isinstance(value, bytes) else str(value).encode()
