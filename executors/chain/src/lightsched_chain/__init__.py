"""lightsched-chain: events that follow each other, with state, and wait for what comes from outside."""

from lightsched_chain.executor import executor, program
from lightsched_chain.settings import ChainSettings

__all__ = ["ChainSettings", "executor", "program"]
