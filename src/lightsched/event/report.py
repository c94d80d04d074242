"""What does an executor say about a delivery?"""

from enum import StrEnum

import msgspec
from msgspec import UNSET, Raw, UnsetType, structs

from lightsched.event.delivery import DeliveryName, parse_delivery_id
from lightsched.event.errors import invalid
from lightsched.event.limits import Limits
from lightsched.event.members import plain_members
from lightsched.event.nesting import check_nesting
from lightsched.event.words import refused
from lightsched.timing import TimingError, parse_delay


@plain_members
class ReportStatus(StrEnum):
    """What an executor may say."""

    CLAIMED = "CLAIMED"
    PROCESSING = "PROCESSING"
    SUCCESS = "SUCCESS"
    RETRIABLE_FAILURE = "RETRIABLE_FAILURE"
    FATAL_FAILURE = "FATAL_FAILURE"


class Report(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A report as sent. Follow-up events are decoded one by one: a bad one does not spoil the status."""

    delivery: str
    token: str
    status: ReportStatus
    executor: str = ""
    result: Raw | UnsetType = UNSET
    error: str = ""
    retry_in: str | None = None
    then: tuple[Raw, ...] = ()

    @property
    def result_bytes(self) -> bytes:
        """The result as JSON, empty if there is none."""
        return b"" if self.result is UNSET else bytes(self.result)


FIELDS = tuple(field.encode_name for field in structs.fields(Report))
_decoder = msgspec.json.Decoder(Report)


def decode_report(data: bytes | None, limits: Limits) -> tuple[Report, DeliveryName]:
    """A report and the delivery it is about. Raises `InvalidEvent`."""
    if data is None:
        raise invalid("", "the record has no value: send the report as JSON")
    if len(data) > limits.record:
        raise invalid("", f"has {len(data)} bytes, the limit is {limits.record}: send less")
    try:
        if not data.isascii():
            data.decode()
        report = _decoder.decode(data)
        check_nesting(data)
    except UnicodeDecodeError as error:
        raise invalid("", f"is not UTF-8 (byte {error.start}): encode it as UTF-8") from None
    except RecursionError:
        raise invalid("result", "is nested too deeply: flatten it") from None
    except msgspec.DecodeError as error:
        raise refused(error, FIELDS, {"status": tuple(ReportStatus)}, data) from None
    name = parse_delivery_id(report.delivery)
    if name is None:
        raise invalid("delivery", "is no delivery's id: send the `ce_id` of the delivery as it came")
    if report.retry_in is not None:
        try:
            parse_delay(report.retry_in)
        except TimingError as error:
            raise invalid("retry_in", str(error)) from None
    return report, name
