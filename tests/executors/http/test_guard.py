"""Are only allowed addresses asked?"""

from ipaddress import ip_address

import pytest

from lightsched_http.guard import Allowed, Guard, NotAllowed, why_not


@pytest.mark.parametrize(
    "address",
    [
        *(
            "8.8.8.8",
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "169.253.0.1",
        ),
        *("2606:4700::1111", "2a00:1450::1", "64:ff9b::808:808", "::ffff:8.8.8.8"),
    ],
)
def test_the_public_internet_is_asked(address):
    assert why_not(ip_address(address)) == ""


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.255.255.254",
            "0.0.0.0",
            "0.1.2.3",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
        ),
        *(
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "192.0.0.1",
            "192.0.0.192",
            "198.18.0.1",
            "198.19.255.255",
        ),
        *("192.0.2.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1"),
        *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2001::1", "2001:db8::1"),
        *("fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "100::1", "3fff::1", "4000::1", "5f00::1"),
    ],
)
def test_nothing_else_is(address):
    assert why_not(ip_address(address))


@pytest.mark.parametrize(
    ("entry", "name", "address", "allowed"),
    [
        ("billing.internal", "billing.internal", "10.0.0.1", True),
        ("Billing.Internal", "billing.internal", "10.0.0.1", True),
        ("billing.internal", "evil.example", "10.0.0.1", False),
        ("10.0.0.0/8", "any.example", "10.9.9.9", True),
        ("10.0.0.0/8", "any.example", "11.0.0.1", False),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.2", "127.0.0.2", False),
        ("127.0.0.1", "::ffff:7f00:1", "::ffff:7f00:1", False),
        ("fd00::/8", "a", "fd12::1", True),
    ],
)
def test_what_is_allowed_is_names_addresses_and_networks(entry, name, address, allowed):
    assert ((name, ip_address(address)) in Allowed([entry])) is allowed


@pytest.mark.parametrize("entry", ["10.0.0.1/8", "10.0.0.0/33", "a/b", ""])
def test_what_makes_no_sense_is_not_allowed(entry):
    with pytest.raises(ValueError, match=r".+"):
        Allowed([entry])


@pytest.mark.parametrize("host", ["fe80::1%lo", "::ffff:10.0.0.1"])
async def test_an_address_is_looked_at_as_well(host):
    with pytest.raises(NotAllowed, match=r"link-local|10\.0\.0\.1 written as IPv6"):
        await Guard(Allowed()).addresses(host, 80)
