"""How long does a node wait for what? Shorter than by default, so that faults can be longer than that."""

SESSION_S = 4.0
REQUEST_S = 4.0
TRANSACTION_S = 5.0
MAX_POLL_S = 6.0
