"""How is Kafka to be trusted, and how to be trusted by it? The same settings for nodes, executors and injectors.

    kafka: {bootstrap: "b1:9093", security: {protocol: SASL_SSL, ca: /etc/ssl/kafka.pem, username: me, password: …}}

A client takes them as `Kafka("b1:9093", settings=security.options())`.
"""

import ssl
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ConfigDict, SecretStr, model_validator

from lightsched.settings import BadSettings, Section

__all__ = ["SecuritySettings"]

_ONLY_WITH = {
    "ca": "SSL",
    "certificate": "SSL",
    "key": "SSL",
    "key_password": "SSL",
    "username": "SASL",
    "password": "SASL",
}
"""A setting that its protocol knows nothing of would be passed over in silence, and all sent in the clear."""


class SecuritySettings(Section):
    """How to connect."""

    model_config = ConfigDict(hide_input_in_errors=True)  # or a password would be in them

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    ca: Path | None = None  # PEM; without it the machine's own authorities hold
    certificate: Path | None = None
    key: Path | None = None
    key_password: SecretStr | None = None
    check_hostname: bool = True
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI"] = "PLAIN"
    username: str | None = None
    password: SecretStr | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        parts = self.protocol.split("_")
        for name, part in _ONLY_WITH.items():
            if getattr(self, name) is not None and part not in parts:
                msg = f"{name} is for a protocol with {part}, and {self.protocol} is none: set protocol"
                raise ValueError(msg)
        if self.key is not None and self.certificate is None:
            raise ValueError("key belongs to a certificate: set certificate")
        if "SASL" in parts and self.mechanism != "GSSAPI" and (self.username is None or self.password is None):
            msg = f"{self.mechanism} needs a username and a password: set both, or another protocol"
            raise ValueError(msg)
        return self

    def options(self) -> dict[str, Any]:
        """As aiokafka wants them. Raises `BadSettings` if a certificate or key cannot be used."""
        options: dict[str, Any] = {"security_protocol": self.protocol}
        if "SSL" in self.protocol.split("_"):
            options["ssl_context"] = self._context()
        if self.protocol.startswith("SASL"):
            if self.mechanism == "GSSAPI" and find_spec("gssapi") is None:
                raise BadSettings(problems="security: GSSAPI needs the package gssapi: install it")
            options["sasl_mechanism"] = self.mechanism
            options["sasl_plain_username"] = self.username
            options["sasl_plain_password"] = None if self.password is None else self.password.get_secret_value()
        return options

    def _context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ca)
            context.check_hostname = self.check_hostname
            if self.certificate is not None:
                # Without any, OpenSSL would ask for it at the terminal.
                secret = "" if self.key_password is None else self.key_password.get_secret_value()
                context.load_cert_chain(self.certificate, self.key, secret)
        except (OSError, ValueError) as error:  # of which SSL's own errors are some
            files = ", ".join(str(file) for file in (self.ca, self.certificate, self.key) if file is not None)
            raise BadSettings(problems=f"security: {files or 'the authorities'} cannot be used: {error}") from None
        return context
