"""What goes wrong with a node? Its process, its disk, its clock, its connections, its network."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from random import Random
from typing import NamedTuple

from tests.chaos.kafka.nodes import FaultyNode
from tests.chaos.kafka.patience import REQUEST_S, SESSION_S, TRANSACTION_S

LONG_S = max(SESSION_S, REQUEST_S, TRANSACTION_S)


class NodeFault(NamedTuple):
    """One kind. `hurt` heals the node as well; it returns False if nothing happened. `takeover`: another node gets its
    partitions meanwhile, so the time to recover counts from the begin.
    """

    name: str
    hurt: Callable[[FaultyNode, Random], Awaitable[bool | None]]
    weight: int
    takeover: bool = False


async def kill(node: FaultyNode, chance: Random) -> None:
    await asyncio.to_thread(node.kill)
    await asyncio.sleep(chance.choice((0.0, 0.5, SESSION_S + 1)))
    node.start()


async def term(node: FaultyNode, _chance: Random) -> None:
    await asyncio.to_thread(node.stop)
    node.start()


async def stop_short(node: FaultyNode, chance: Random) -> None:
    node.send(signal.SIGSTOP)
    await asyncio.sleep(chance.uniform(0.2, 2.0))
    node.send(signal.SIGCONT)


async def stop_long(node: FaultyNode, chance: Random) -> None:
    node.send(signal.SIGSTOP)
    await asyncio.sleep(chance.uniform(LONG_S + 1, LONG_S * 2))
    node.send(signal.SIGCONT)


async def lose_store(node: FaultyNode, _chance: Random) -> None:
    await asyncio.to_thread(node.kill)
    node.lose_store()
    node.start()


async def disk_full(node: FaultyNode, chance: Random) -> None:
    node.set(disk_full=True)
    await asyncio.sleep(chance.uniform(0.2, 2.0))
    node.set()


async def clock_forward(node: FaultyNode, chance: Random) -> None:
    node.set(clock_ms=chance.choice((7_000, 3_600_000, 86_400_000)))
    await asyncio.sleep(chance.uniform(0.2, 1.5))
    node.set()


async def clock_back(node: FaultyNode, chance: Random) -> None:
    node.set(clock_ms=-chance.choice((500, 7_000, 3_600_000)))
    await asyncio.sleep(chance.uniform(0.2, 1.5))
    node.set()


async def late_init(node: FaultyNode, _chance: Random) -> None:
    """It begins to take partitions, and its word reaches the broker when they are another's."""
    await asyncio.to_thread(node.kill)
    node.start()
    node.set(init_delay_s=SESSION_S * 2)
    await asyncio.sleep(SESSION_S)
    node.send(signal.SIGSTOP)
    await asyncio.sleep(SESSION_S * 1.5)
    node.set()
    node.send(signal.SIGCONT)


async def cut(node: FaultyNode, chance: Random) -> None:
    await node.proxy.cut(chance.choice((0.0, 0.5, 2.0)))


async def cut_long(node: FaultyNode, chance: Random) -> None:
    await node.proxy.cut(chance.uniform(LONG_S + 1, LONG_S * 2))


async def stall(node: FaultyNode, chance: Random) -> None:
    await node.proxy.stall(chance.uniform(0.2, 2.0))


async def stall_long(node: FaultyNode, chance: Random) -> None:
    await node.proxy.stall(chance.uniform(LONG_S + 1, LONG_S * 2))


async def lose_commit(node: FaultyNode, _chance: Random) -> bool:
    return await node.proxy.lose_commit(within_s=10.0, cut_s=0.0)


async def lose_commit_long(node: FaultyNode, chance: Random) -> bool:
    return await node.proxy.lose_commit(within_s=10.0, cut_s=TRANSACTION_S + chance.uniform(0.5, 2.0))


async def link_down(node: FaultyNode, chance: Random) -> None:
    await _without_network(node, chance.uniform(0.3, SESSION_S - 1))


async def link_down_long(node: FaultyNode, chance: Random) -> None:
    await _without_network(node, chance.uniform(LONG_S + 1, LONG_S * 2))


async def _without_network(node: FaultyNode, seconds: float) -> None:
    assert node.link is not None
    await asyncio.to_thread(node.link, "down")
    await asyncio.sleep(seconds)
    await asyncio.to_thread(node.link, "up")


OF_THE_NODE = (
    NodeFault("kill -9", kill, 4, takeover=True),
    NodeFault("SIGTERM", term, 3, takeover=True),
    NodeFault("SIGSTOP, short", stop_short, 3),
    NodeFault("SIGSTOP, longer than timeouts", stop_long, 2, takeover=True),
    NodeFault("store deleted", lose_store, 2, takeover=True),
    NodeFault("disk full", disk_full, 2),
    NodeFault("clock forward", clock_forward, 2),
    NodeFault("clock back", clock_back, 2),
    NodeFault("late init", late_init, 1, takeover=True),
    NodeFault("connections cut", cut, 4),
    NodeFault("connections cut, longer", cut_long, 1, takeover=True),
    NodeFault("traffic stalled, short", stall, 3),
    NodeFault("traffic stalled, longer", stall_long, 1, takeover=True),
    NodeFault("answer to commit lost", lose_commit, 5),
    NodeFault("answer to commit lost, then cut", lose_commit_long, 2, takeover=True),
)
OF_ITS_NETWORK = (
    NodeFault("link down, short", link_down, 3),
    NodeFault("link down, longer than session", link_down_long, 2, takeover=True),
)
