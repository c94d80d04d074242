"""How hard should lz4 try? Not hard: a batch is to be sent soon.

aiokafka asks for level 9, which takes eight times as long for hardly a byte less: a quarter of a busy node's time.
"""

import sys
from functools import partial

from aiokafka.codec import lz4_encode
from aiokafka.record.default_records import DefaultRecordBatchBuilder

FAST = 1


def compress_fast() -> None:
    """For all producers of this process. Twice is as good as once."""
    sys.modules[DefaultRecordBatchBuilder.__module__].lz4_encode = partial(lz4_encode, level=FAST)  # type: ignore[attr-defined]
