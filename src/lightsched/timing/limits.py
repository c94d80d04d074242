"""From when to when is there time?

Instants are whole milliseconds since 1970-01-01T00:00:00Z. Nothing fires before the first or after the last of them, so
that every search has an end.
"""

FIRST_MS = 0
LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
