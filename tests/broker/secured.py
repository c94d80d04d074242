"""How is a broker secured? Whoever connects checks its certificate, and shows one of their own or has a password.

folder/ca.pem        whom to trust
folder/broker.pem    the broker's key and certificate, for 127.0.0.1 and no other name
folder/client.pem    a client's certificate
folder/client.key    and its key, encrypted with PASSWORD
folder/other-ca.pem  an authority that knows nobody
"""

import subprocess
from pathlib import Path

from tests.broker.local import LocalCluster
from tests.broker.process import HOST
from tests.programs import OPENSSL

USER, PASSWORD = "lightsched", "kept secret"

_PROTOCOLS = {"CONTROLLER": "PLAINTEXT"} | {
    protocol: protocol for protocol in ("PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL")
}
_LOGIN = "org.apache.kafka.common.security"


class SecuredBroker:
    """One broker: `sasl` with SCRAM-SHA-512 or PLAIN, `mutual` with a certificate of the client's own.

    Where it is `lost`, with PLAIN and without TLS, it tells clients to go where nobody is. `in_the_clear`: for all.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _make_certificates(folder)
        secured = {"SASL_SSL": HOST, "SSL": HOST, "SASL_PLAINTEXT": "nobody.invalid"}
        self._cluster = LocalCluster(folder, more=_settings(folder), secured=secured, users={USER: PASSWORD})
        self.sasl, self.mutual, self.lost = map(self._cluster.bootstrap_of, secured)
        self.in_the_clear = self._cluster.bootstrap

    def close(self) -> None:
        self._cluster.close()


def _settings(folder: Path) -> dict[str, str]:
    plain = f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    return {
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in _PROTOCOLS.items()),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.sasl_ssl.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{_LOGIN}.scram.ScramLoginModule required;",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": plain,
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": plain,
    }


def _make_certificates(folder: Path) -> None:
    for authority in ("ca", "other-ca"):
        usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
        _certify(folder, authority, "-noenc", *usage)
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE")
    _certify(folder, "broker", "-noenc", *signed, "-addext", "subjectAltName=IP:127.0.0.1")
    _certify(folder, "client", "-passout", f"pass:{PASSWORD}", *signed)
    with (folder / "broker.pem").open("a") as both:
        both.write((folder / "broker.key").read_text())


def _certify(folder: Path, name: str, *options: str) -> None:
    """Make `name`.key and `name`.pem, good for a day."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout", f"{name}.key")
    certificate = ("-x509", "-days", "1", "-subj", f"/CN=lightsched test {name}", "-out", f"{name}.pem")
    command = [OPENSSL.find(), "req", *key, *certificate, *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
