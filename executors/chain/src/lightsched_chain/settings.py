"""How is the executor set up? `chain.yml`, then `LIGHTSCHED_EXECUTOR_CHAIN_…` variables, then flags."""

from pydantic_settings import SettingsConfigDict

from lightsched.executor.configured import ExecutorSettings


class ChainSettings(ExecutorSettings):
    """All settings of the executor."""

    model_config = SettingsConfigDict(env_prefix="LIGHTSCHED_EXECUTOR_CHAIN_")

    group: str = "chain"
