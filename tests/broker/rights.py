"""How is a topic denied? Brokers with these settings look at rights; whatever has none of its own is open to all."""

from collections.abc import Sequence

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import CreateAclsRequest

_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
WITH_RIGHTS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    # Rights are known when the controllers have agreed on them: until then only a super user is let in.
    "super.users": "User:controller",
    "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": (
        f'{_LOGIN} username="controller" password="secret" user_controller="secret";'
    ),
}
READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS = 3, 4, 8, 10

_TOPIC, _LITERAL = 2, 3
_DENY, _ALLOW = 2, 3
_SECURITY_DISABLED = 54


async def deny_writing(admin: AIOKafkaAdminClient, topic: str, allowed: Sequence[int] = ()) -> bool:
    """Nobody writes to a topic, and nobody does anything else there that is not allowed.

    False: these brokers do not look at rights.
    """
    for operation, permission in ((WRITE, _DENY), *((operation, _ALLOW) for operation in allowed)):
        request = CreateAclsRequest(_TOPIC, topic, _LITERAL, "User:*", "*", operation, permission)
        ((code, message),) = (await admin._send_request(request)).creation_responses
        if code == _SECURITY_DISABLED:
            return False
        assert code == 0, message
    return True
