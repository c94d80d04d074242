"""lightsched-http: requests as deliveries ask for them, to where they may go."""

from lightsched_http.executor import executor, program
from lightsched_http.settings import Endpoint, HttpSettings

__all__ = ["Endpoint", "HttpSettings", "executor", "program"]
