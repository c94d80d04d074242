"""Which column families does the embedded log have, besides those of the stores?

| family | key → value |
|---|---|
| inputs | topic, partition, first offset → records written together; `events` and `reports`, dropped once read |
| outputs | topic, partition, first offset → records written together; all other topics, kept for a while |
| log | `partitions`; topic name → its number; first offsets; positions of groups; what nodes share |
"""

from lightsched.store.families import STORE_FAMILIES, Tuning

INPUTS = "inputs"
OUTPUTS = "outputs"
LOG = "log"

FAMILIES: dict[str, Tuning] = {
    **STORE_FAMILIES,
    INPUTS: Tuning(buffer_mb=16, block_kb=16),
    OUTPUTS: Tuning(buffer_mb=16, block_kb=16, compressed=True),
    LOG: Tuning(buffer_mb=1),
}
