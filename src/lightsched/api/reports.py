"""What does an executor say? `POST /reports`: accepted, or changed nothing, and then why. One, or many at once."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import chain

from fastapi import APIRouter, Request, Response

from lightsched.api.body import Item, elements, is_array, is_ndjson, lines, read_body
from lightsched.api.direct import Direct
from lightsched.api.documents import REPORT_BODY, described, refusals
from lightsched.api.face import Face, running_now
from lightsched.api.parameters import BASE
from lightsched.api.problem import FORBIDDEN, INVALID, TOO_LARGE, UNAVAILABLE, Kind, Refusal, invalid_field
from lightsched.api.problem import IGNORED as IGNORED_REPORT
from lightsched.api.shapes import ReportAnswer, ReportAnswers, answer
from lightsched.engine.reports import FORBIDDEN as WRONG_TOKEN
from lightsched.engine.reports import IGNORED
from lightsched.engine.step import Answer
from lightsched.errors import LightschedError
from lightsched.event.errors import InvalidEvent
from lightsched.event.identity import parts
from lightsched.event.record import Record
from lightsched.event.report import decode_report
from lightsched.event.status import Outcome

router = APIRouter(prefix=BASE, route_class=Direct, tags=["deliveries"])


@router.post(
    "/reports",
    operation_id="report",
    summary="Report on a delivery, or on many",
    status_code=204,
    response_class=Response,
    responses={
        204: {"description": "Accepted"},
        **described(200, "Many: what came of each, in the order in which they were sent", ReportAnswers),
        202: {"description": "Durable, and read when its partition has an owner again"},
        **refusals(400, 403, 409, 413, 503),
    },
    openapi_extra={"requestBody": REPORT_BODY},
)
async def post_report(request: Request) -> Response:
    """`CLAIMED` and `PROCESSING` renew the delivery's lease, the others end the attempt.

    A report that comes late or twice changes nothing: 409, and `reason` says why. A wrong token is 403. Many, as a JSON
    array or as NDJSON, are answered one by one: what is wrong with one does not concern the others.
    """
    face = running_now(request)
    body = await read_body(request, face.settings.limits.body)
    if is_array(body):
        return await _many(face, elements(body, face.limits.record))
    if is_ndjson(body, request.headers.get("content-type", "").encode()):
        return await _many(face, lines(body))
    if len(body) > face.limits.record:
        raise Refusal(TOO_LARGE, f"The body has more than {face.limits.record} bytes: send it in parts.")
    _, submitted = _submit(face, body)
    result = await submitted
    if refusal := _refusal(result):
        kind, why, reason = refusal
        raise Refusal(kind, why, reason=reason) if reason else Refusal(kind, why)
    return Response(status_code=202 if result.outcome is Outcome.FORWARDED else 204)


async def _many(face: Face, pieces: Iterable[Sequence[Item]]) -> Response:
    """Hand over all that make sense before the first is answered: they go in together."""
    answers: list[ReportAnswer] = []
    waiting: list[tuple[int, asyncio.Future[Answer]]] = []
    async with face.deliveries.turns() as turns:
        for item in chain.from_iterable(pieces):
            if not item:
                continue
            if len(answers) == face.settings.limits.batch:
                raise Refusal(
                    TOO_LARGE, f"There are more than {face.settings.limits.batch:,} reports: send them in parts."
                )
            try:
                delivery, submitted = _submit(face, bytes(item))
            except (InvalidEvent, Refusal) as error:
                answers.append(ReportAnswer(status=INVALID.status, error=str(error)))
            else:
                waiting.append((len(answers), submitted))
                answers.append(ReportAnswer(delivery=delivery))
            if turns.over():
                await turns.rest()
    results = await asyncio.gather(*(submitted for _, submitted in waiting), return_exceptions=True)
    for (place, _), result in zip(waiting, results, strict=True):
        given = answers[place]
        if isinstance(result, LightschedError):
            given.status, given.error = UNAVAILABLE.status, str(result)
        elif isinstance(result, BaseException):
            raise result
        elif refusal := _refusal(result):
            kind, given.error, given.reason = refusal
            given.status = kind.status
        elif result.outcome is Outcome.FORWARDED:
            given.status = 202
    return answer(ReportAnswers(answers))


def _submit(face: Face, body: bytes) -> tuple[str, asyncio.Future[Answer]]:
    """Hand a report to its partition; the delivery it is about."""
    report, name = decode_report(body, face.limits)
    if not 0 <= name.partition < face.node.log.partitions:
        raise invalid_field("delivery", "names a partition that is not here: send it to where the delivery came from")
    _, key, _ = parts(name.identity)
    return report.delivery, face.reports.submit(name.partition, Record(key.encode(), body))


def _refusal(result: Answer) -> tuple[Kind, str, str] | None:
    """Why a report was not taken: the kind of problem, a sentence, and the reason in one word."""
    if result.outcome is Outcome.INVALID:
        return INVALID, result.error, ""
    if result.ignored == WRONG_TOKEN:
        return FORBIDDEN, f"The report was not accepted: {IGNORED[WRONG_TOKEN]}.", WRONG_TOKEN
    if result.ignored:
        why = IGNORED.get(result.ignored, result.ignored)
        return IGNORED_REPORT, f"The report changed nothing: {why}.", result.ignored
    return None
