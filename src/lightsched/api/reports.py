"""What does an executor say? `POST /reports`: accepted, or changed nothing, and then why."""

from fastapi import APIRouter, Request, Response

from lightsched.api.body import read_body
from lightsched.api.direct import Direct
from lightsched.api.documents import REPORT_BODY, refusals
from lightsched.api.face import running_now
from lightsched.api.parameters import BASE
from lightsched.api.problem import FORBIDDEN, INVALID, Refusal, invalid_field
from lightsched.api.problem import IGNORED as IGNORED_REPORT
from lightsched.engine.reports import FORBIDDEN as WRONG_TOKEN
from lightsched.engine.reports import IGNORED
from lightsched.event.identity import parts
from lightsched.event.record import Record
from lightsched.event.report import decode_report
from lightsched.event.status import Outcome

router = APIRouter(prefix=BASE, route_class=Direct, tags=["deliveries"])


@router.post(
    "/reports",
    operation_id="report",
    summary="Report on a delivery",
    status_code=204,
    response_class=Response,
    responses={204: {"description": "Accepted"}, **refusals(400, 403, 409, 413, 503)},
    openapi_extra={"requestBody": REPORT_BODY},
)
async def post_report(request: Request) -> Response:
    """`CLAIMED` and `PROCESSING` renew the delivery's lease, the others end the attempt.

    A report that comes late or twice changes nothing: 409, and `reason` says why. A wrong token is 403.
    """
    face = running_now(request)
    body = await read_body(request, face.limits.record)
    _, name = decode_report(body, face.limits)
    if not 0 <= name.partition < face.node.log.partitions:
        raise invalid_field("delivery", "names a partition that is not here: send it to where the delivery came from")
    _, key, _ = parts(name.identity)
    result = await face.reports.submit(name.partition, Record(key.encode(), body))
    if result.outcome is Outcome.INVALID:
        raise Refusal(INVALID, result.error)
    if result.ignored == WRONG_TOKEN:
        raise Refusal(FORBIDDEN, f"The report was not accepted: {IGNORED[WRONG_TOKEN]}.", reason=WRONG_TOKEN)
    if result.ignored:
        why = IGNORED.get(result.ignored, result.ignored)
        raise Refusal(IGNORED_REPORT, f"The report changed nothing: {why}.", reason=result.ignored)
    return Response(status_code=204)
