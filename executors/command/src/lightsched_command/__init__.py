"""lightsched-command: programs as deliveries ask for them, if the settings allow them."""

from lightsched_command.executor import executor, program
from lightsched_command.settings import Allowed, CommandSettings

__all__ = ["Allowed", "CommandSettings", "executor", "program"]
