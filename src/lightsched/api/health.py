"""Does it live, is it ready, and what has it done? For whoever watches over it."""

from fastapi import APIRouter, Request, Response
from msgspec import convert
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from lightsched import __version__
from lightsched.api.documents import described, refusals
from lightsched.api.elsewhere import read_everywhere
from lightsched.api.examples import METRICS
from lightsched.api.face import Face, Running
from lightsched.api.parameters import BASE
from lightsched.api.problem import UNAVAILABLE, Refusal
from lightsched.api.shapes import Health, Nodes, NodeShown, Partitions, PartitionShown, answer, totals_shown
from lightsched.api.shown import shown_time
from lightsched.timing import format_utc

watch = APIRouter(tags=["operations"])
cluster = APIRouter(prefix=BASE, tags=["operations"])


@watch.get(
    "/healthz",
    operation_id="healthz",
    summary="Does the process live?",
    responses={**described(200, "It does", Health), **refusals(403)},
)
async def healthz() -> Response:
    """Answers as long as the process can answer at all."""
    return answer(Health("ok", __version__))


@watch.get(
    "/readyz",
    operation_id="readyz",
    summary="Is it ready?",
    responses={**described(200, "All partitions run", Health), **refusals(403, 503)},
)
async def readyz(request: Request) -> Response:
    """Not ready while partitions are being taken, while the brokers cannot be reached, and while the node stops."""
    face: Face = request.app.state.face
    if not face.node.ready or face.stopping.is_set():
        raise Refusal(UNAVAILABLE, "Not all partitions run yet, or the node is stopping: ask again in a moment.")
    return answer(Health("ready", __version__))


@watch.get(
    "/metrics",
    operation_id="metrics",
    summary="Counters and histograms, for Prometheus",
    response_class=Response,
    responses={
        200: {
            "description": "In the text format of Prometheus",
            "content": {"text/plain": {"schema": {"type": "string"}, "example": METRICS}},
        },
        **refusals(403),
    },
)
async def metrics(request: Request) -> Response:
    """What the node has done since it started."""
    face: Face = request.app.state.face
    return Response(generate_latest(face.node.metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


@cluster.get(
    "/partitions",
    operation_id="partitions",
    summary="Who owns which partition?",
    responses={**described(200, "All partitions", Partitions), **refusals(403, 503)},
)
async def get_partitions(face: Running) -> Response:
    """With how much is pending, how far each one lags behind its inputs, and what it has done so far."""
    node = face.node
    shown = [
        PartitionShown(
            partition=number,
            owner=face.settings.node_id,
            standbys=[],
            pending=worker.partition.store.pending(),
            next_due=shown_time(worker.partition.store.fires_next_ms()),
            lag=worker.partition.lag,
            steps=worker.partition.store.meta.step,
            clock_trusted=worker.guard.trusted,
            totals=totals_shown(worker.partition.store.meta.totals),
        )
        for number, worker in sorted(node.workers.items())
    ]
    for elsewhere in await read_everywhere(face, f"{BASE}/partitions"):
        shown += [convert(each, PartitionShown) for each in elsewhere["partitions"]]
    return answer(Partitions(sorted(shown, key=lambda each: each.partition)))


@cluster.get(
    "/nodes",
    operation_id="nodes",
    summary="Which nodes are there?",
    responses={**described(200, "All nodes", Nodes), **refusals(403, 503)},
)
async def get_nodes(face: Running) -> Response:
    """On the embedded log there is this one; on Kafka, those that were heard of lately.

    `load` is as of the `heartbeat`: what is pending, unread and in flight, how many events fired a second and how many
    cores the process kept busy, over the `seconds` before.
    """
    log = face.settings.log
    own = face.node.own()
    peers = [own, *face.node.log.peers]
    unhandled = [] if face.unhandled is None else face.unhandled.types
    return answer(
        Nodes(
            [
                NodeShown(
                    id=peer.id,
                    url=peer.url,
                    version=peer.version,
                    log=log,
                    roles=list(peer.roles),
                    partitions=list(peer.partitions),
                    load=peer.load,
                    started_at=format_utc(peer.started_ms),
                    heartbeat=format_utc(peer.heard_ms or face.now_ms),
                    unhandled=unhandled if peer is own else [],
                )
                for peer in sorted(peers, key=lambda peer: peer.id)
            ]
        )
    )
