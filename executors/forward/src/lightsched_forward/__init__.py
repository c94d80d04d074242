"""lightsched-forward: deliveries passed on to other topics, by rule."""

from lightsched_forward.executor import executor, program
from lightsched_forward.rules import Rule
from lightsched_forward.settings import ForwardSettings

__all__ = ["ForwardSettings", "Rule", "executor", "program"]
