"""How is the executor set up? `forward.yml`, then `LIGHTSCHED_EXECUTOR_FORWARD_…` variables, then flags."""

from pydantic_settings import SettingsConfigDict

from lightsched.executor.configured import ExecutorSettings
from lightsched_forward.rules import Rule


class ForwardSettings(ExecutorSettings):
    """All settings of the executor."""

    model_config = SettingsConfigDict(env_prefix="LIGHTSCHED_EXECUTOR_FORWARD_")

    group: str = "forward"
    rules: tuple[Rule, ...] = ()

    @property
    def types(self) -> list[str]:
        """What the rules are about, as an executor says it: wider where a pattern is finer."""
        wide = {rule.type if _is_route(rule.type) else _wider(rule.type) for rule in self.rules}
        return sorted(wide)


def _is_route(pattern: str) -> bool:
    return pattern == "*" or ("*" not in pattern.removesuffix(".*") and "?" not in pattern)


def _wider(pattern: str) -> str:
    """`order.*.paid` is among `order.*`."""
    fixed = pattern[: min(pattern.find(each) for each in "*?" if each in pattern)]
    return f"{fixed.rpartition('.')[0]}.*" if "." in fixed else "*"
