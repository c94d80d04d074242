"""Is there always a reason why Kafka cannot be reached?"""

import pytest
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaConnectionError

from lightsched.reaching import why_not_reached


class NoTicket(Exception):
    """As GSSAPI has exceptions of its own."""


@pytest.mark.parametrize("error", [NoTicket("no ticket"), ValueError("no ticket"), KeyError("no ticket")])
async def test_whatever_goes_wrong_is_the_reason(monkeypatch, error):
    async def connect(_):
        raise error

    monkeypatch.setattr(AIOKafkaConnection, "connect", connect)
    why = await why_not_reached("127.0.0.1:9", {}, KafkaConnectionError())
    assert why.startswith("127.0.0.1:9 refuses: ")
    assert "no ticket" in why
