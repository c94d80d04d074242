"""How does a program connect to a Kafka that is secured? With the same settings, whichever program it is."""

import ssl

import pytest

from lightsched.client import Kafka
from lightsched.executor.configured import ExecutorSettings
from lightsched.node.settings import Settings
from lightsched.security import SecuritySettings
from lightsched.settings import BadSettings


def test_without_settings_nothing_is_secured():
    assert SecuritySettings().options() == {"security_protocol": "PLAINTEXT"}


def test_tls_with_the_machine_s_authorities():
    options = SecuritySettings(protocol="SSL").options()
    assert options["security_protocol"] == "SSL"
    assert options["ssl_context"].verify_mode is ssl.CERT_REQUIRED
    assert options["ssl_context"].check_hostname


def test_a_name_and_a_password():
    security = SecuritySettings(protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-512", username="me", password="secret")
    assert security.options() == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "me",
        "sasl_plain_password": "secret",
    }
    assert "secret" not in repr(security)


@pytest.mark.parametrize("which", ["ca", "certificate"])
def test_a_file_that_is_not_there_or_no_certificate_is_named(tmp_path, which):
    file = tmp_path / "kafka.pem"
    for content in (None, "no certificate"):
        if content is not None:
            file.write_text(content)
        with pytest.raises(BadSettings, match=f"{file} cannot be used: "):
            SecuritySettings(protocol="SSL", **{which: file}).options()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"protocol": "SASL_SSL"}, "PLAIN needs a username and a password"),
        ({"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "username": "me"}, "SCRAM-SHA-512 needs a username"),
        ({"username": "me"}, "username is for a protocol with SASL, and PLAINTEXT is none: set protocol"),
        ({"protocol": "SSL", "password": "secret"}, "password is for a protocol with SASL, and SSL is none"),
        ({"ca": "kafka.pem"}, "ca is for a protocol with SSL, and PLAINTEXT is none"),
        ({"protocol": "SSL", "key": "my.key"}, "key belongs to a certificate: set certificate"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_sent(settings, problem):
    with pytest.raises(BadSettings, match=rf"kafka\.security: {problem}") as refused:
        Settings.load(kafka={"security": settings})
    assert "secret" not in str(refused.value)
    with pytest.raises(ValueError, match=problem) as refused:
        SecuritySettings(**settings)
    assert "secret" not in str(refused.value)


def test_kerberos_without_its_library_is_refused():
    with pytest.raises(BadSettings, match="GSSAPI needs the package gssapi: install it"):
        SecuritySettings(protocol="SASL_SSL", mechanism="GSSAPI").options()


@pytest.mark.parametrize("by_variable", [False, True])
def test_an_executor_takes_them_too(monkeypatch, by_variable):
    server = "kafka://b1:9093?prefix=mine."
    if by_variable:
        monkeypatch.setenv("LIGHTSCHED_SERVER", server)
    security = SecuritySettings(protocol="SASL_PLAINTEXT", username="me", password="secret")
    settings = ExecutorSettings(server="" if by_variable else server, security=security, kafka={"client_id": "x"})
    assert settings.made().server == Kafka("b1:9093", "mine.", {**security.options(), "client_id": "x"})


def test_an_address_takes_them_from_the_environment(monkeypatch):
    server = "kafka://b1:9093?prefix=mine."
    assert Kafka.found(server) == Kafka("b1:9093", "mine.")
    given = {"protocol": "SASL_PLAINTEXT", "username": "me", "password": "secret"}
    for name, value in given.items():
        monkeypatch.setenv(f"LIGHTSCHED_KAFKA__SECURITY__{name.upper()}", value)
    assert Kafka.found(server) == Kafka("b1:9093", "mine.", SecuritySettings(**given).options())
    monkeypatch.setenv("LIGHTSCHED_KAFKA__SECURITY__PASWORD", "secret")
    with pytest.raises(BadSettings, match=r"security\.pasword: is not a known setting") as refused:
        Kafka.found(server)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("LIGHTSCHED_KAFKA__SECURITY", '{"protocol":"SASL_PLAINTEXT","username":"me","password":"other"}'),
        ("LIGHTSCHED_KAFKA", '{"security":{"protocol":"SASL_PLAINTEXT","username":"me","password":"other"}}'),
    ],
)
def test_an_address_takes_them_as_json_as_a_node_does(monkeypatch, variable, text):
    monkeypatch.setenv(variable, text)
    monkeypatch.setenv("LIGHTSCHED_KAFKA__SECURITY__PASSWORD", "secret")
    found = Kafka.found("kafka://b1:9093")
    assert found.settings == Settings.load().kafka.security.options()
    assert (found.settings["security_protocol"], found.settings["sasl_plain_password"]) == ("SASL_PLAINTEXT", "secret")
    assert "secret" not in repr(found)


@pytest.mark.parametrize("text", ["{secret", "[]", "1"])
@pytest.mark.parametrize("variable", ["LIGHTSCHED_KAFKA__SECURITY", "LIGHTSCHED_KAFKA"])
def test_what_is_no_json_is_refused_instead_of_all_sent_in_the_clear(monkeypatch, variable, text):
    monkeypatch.setenv(variable, text)
    with pytest.raises(BadSettings, match=f"{variable} must be a JSON object") as refused:
        Kafka.found("kafka://b1:9093")
    assert "secret" not in str(refused.value)


def test_an_executor_on_rest_needs_none_of_it():
    settings = ExecutorSettings(server="http://127.0.0.1:9", kafka={"client_id": "x"})
    assert settings.made().server == "http://127.0.0.1:9"
