"""Is a record read whose header has a name that is no text? Also where aiokafka has no extensions."""

import os
import subprocess
import sys

import pytest

READ = r"""
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from lightsched.odd_headers import _Batches

written = DefaultRecordBatchBuilder(
    magic=2, compression_type=0, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=-1, batch_size=999
)
for number in range(3):
    written.append(number, timestamp=1, key=None, value=b"%d" % number, headers=[("zz" if number == 1 else "x", b"1")])
batch = _Batches(bytes(written.build()).replace(b"zz", b"\xff\xfe")).next_batch()
print(DefaultRecordBatch.__name__, [(bytes(each.value), list(each.headers)) for each in batch])
"""


@pytest.mark.parametrize("without", ["", "1"])
def test_a_name_that_is_no_text_is_shown_as_it_can_be(without):
    environment = {**os.environ, "AIOKAFKA_NO_EXTENSIONS": without}
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    which, _, records = done.stdout.partition(" ")
    assert which.endswith("Py") == bool(without)
    assert records.strip() == str([(b"0", [("x", b"1")]), (b"1", [(r"\xff\xfe", b"1")]), (b"2", [("x", b"1")])])
