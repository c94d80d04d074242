"""Why can Kafka not be reached, and what is to be done?

aiokafka says it to its log only, and then that it was not able to bootstrap, or that a node is not ready. So whoever
has to say more connects once more, as a client would: to the brokers that were named, then to those that they name.
"""

import asyncio
import os
import ssl
from collections.abc import Mapping
from inspect import signature
from typing import Any

from aiokafka.conn import AIOKafkaConnection, collect_hosts
from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    NodeNotReadyError,
    RequestTimedOutError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.metadata import MetadataRequest

__all__ = ["NOT_REACHED", "why_not_reached"]

NOT_REACHED = (KafkaConnectionError, NodeNotReadyError, RequestTimedOutError)
"""What aiokafka raises then."""

_ANSWERS_WITHIN_MS = 5_000
_CLOSES_WITHIN_S = 1.0
_NAMED_OTHERWISE = "write the address of the brokers as it stands in their certificate"
_OF_A_CERTIFICATE = {
    9: "check the clock of this machine",
    10: "let it be renewed",
    62: _NAMED_OTHERWISE,
    64: _NAMED_OTHERWISE,
}
"""What to do about it, by OpenSSL's number; of the others the authority is missing."""
_CLOSED = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
_TAKEN = frozenset(signature(AIOKafkaConnection).parameters)

Address = tuple[str, int]


async def why_not_reached(bootstrap: str, settings: Mapping[str, Any], error: Exception) -> str:
    """What keeps a client with these settings of aiokafka's from the brokers, and what to do; without a full stop."""
    named = {(host, port) for host, port, _ in collect_hosts(bootstrap)}
    found = await _tried(named, settings)
    brokers = {broker for answer in found.values() if not isinstance(answer, Exception) for broker in answer}
    found |= await _tried(brokers - named, settings)
    problems = [(where, answer) for where, answer in found.items() if isinstance(answer, Exception)]
    if not problems:
        return f"{str(error) or type(error).__name__}; by now it answers: try again"
    # Who answers and refuses says more than who is down.
    (host, port), problem = min(problems, key=lambda each: (_is_silence(each[1]), each[0]))
    called = "" if (host, port) in named else ", as a broker calls itself,"
    return f"{host}:{port}{called} {_in_words(problem, settings)}"


async def _tried(places: set[Address], settings: Mapping[str, Any]) -> dict[Address, set[Address] | Exception]:
    """For each place the brokers that it names, or why it does not."""
    answers = await asyncio.gather(*(_brokers(host, port, settings) for host, port in places))
    return dict(zip(places, answers, strict=True))


async def _brokers(host: str, port: int, settings: Mapping[str, Any]) -> set[Address] | Exception:
    options = {name: value for name, value in settings.items() if name in _TAKEN}
    options["request_timeout_ms"] = min(options.get("request_timeout_ms", _ANSWERS_WITHIN_MS), _ANSWERS_WITHIN_MS)
    connection = AIOKafkaConnection(host, port, **options)
    try:
        await connection.connect()
        answer = await connection.send(MetadataRequest([]))
    except Exception as error:  # noqa: BLE001 - also Kerberos' own, or of an answer that is none: it is the reason
        return error
    finally:
        await _close(connection)
    return {(broker[1], broker[2]) for broker in answer.brokers}


async def _close(connection: AIOKafkaConnection) -> None:
    """Wait until the socket is closed: by TLS that takes a word of the broker's, and the loop may end after this.

    aiokafka waits for none that is not let in (`create_conn`, and so its clients), and hands none out. What a client
    of its has left so was begun before this connection, and ends while this one is waited for.
    """
    if connection._protocol is not None:  # noqa: SLF001 -- else it was never made, and there is no end to wait for
        await asyncio.wait([connection.close()], timeout=_CLOSES_WITHIN_S)


def _is_silence(error: Exception) -> bool:
    return isinstance(error, OSError) and not isinstance(error, (ssl.SSLError, *_CLOSED))


def _in_words(error: Exception, settings: Mapping[str, Any]) -> str:
    protocol, mechanism = settings.get("security_protocol", "PLAINTEXT"), settings.get("sasl_mechanism")
    cause = error.__cause__ if isinstance(error, KafkaConnectionError) else error
    match cause:
        case SaslAuthenticationFailed():
            user = settings.get("sasl_plain_username")
            check = "check security.username, security.password and security.mechanism"
            return f"does not let {user!r} in by {mechanism}: {check}"
        case UnsupportedSaslMechanismError():
            return f"does not know {mechanism}: set another security.mechanism"
        case IllegalSaslStateError():
            return f"wants no password: set another security.protocol than {protocol}"
        case ssl.SSLCertVerificationError():
            why = cause.verify_message.rstrip(".")
            what = _OF_A_CERTIFICATE.get(cause.verify_code, "set security.ca to the authority that signed it")
            return f"has a certificate that cannot be trusted ({why}): {what}"
        case ssl.SSLError() if "ALERT" in (cause.reason or ""):
            why = (cause.reason or "").replace("_", " ").lower()
            return f"does not trust this client ({why}): check security.certificate and security.key"
        case ssl.SSLError():
            return f"does not answer by TLS ({cause.reason or cause}): check the port, and security.protocol"
        case TimeoutError():
            return "does not answer: check the address, and security.protocol"
        case OSError() if _is_silence(cause):
            number = cause.errno or 0  # below zero: a name that cannot be resolved
            why = os.strerror(number) if number > 0 else cause.strerror or str(cause)
            return f"is not there ({why}): start it, or give another address"
        case _ if isinstance(error, (KafkaConnectionError, *_CLOSED)):
            return f"closes the connection: check the port, and whether security.protocol is {protocol}"
        case _:
            return f"refuses: {str(error) or type(error).__name__}"
