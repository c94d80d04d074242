"""What is said when a node cannot listen where it should?"""

import socket

import pytest

from lightsched.node.listening import CannotListen, bind
from lightsched.node.settings import HttpSettings


@pytest.fixture
def taken():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield HttpSettings(host="127.0.0.1", port=other.getsockname()[1])


def test_a_port_that_is_taken_is_to_be_changed_by_the_flag(taken, monkeypatch):
    monkeypatch.delenv("MAKELEVEL", raising=False)
    with pytest.raises(CannotListen, match="give another with --port, or stop what is using it"):
        bind(taken)


def test_under_make_the_flag_is_given_to_make(taken, monkeypatch):
    monkeypatch.setenv("MAKELEVEL", "1")
    with pytest.raises(CannotListen, match='make run ARGS="--port 8081"'):
        bind(taken)


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_of_another_machine_needs_no_other_port(host):
    with pytest.raises(CannotListen, match="no address of this machine, give one with --host") as refused:
        bind(HttpSettings(host=host, port=8080))
    assert "--port" not in str(refused.value)
