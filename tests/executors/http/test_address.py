"""Is there one spelling for each URL only?"""

from ipaddress import ip_address

import pytest

from lightsched_http.address import BadUrl, Url, parse


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://example.com", Url("http", "example.com", 80, "/")),
        ("HTTPS://Example.COM:8443/a?b=c#d", Url("https", "example.com", 8443, "/a?b=c")),
        ("https://a_b.xn--bcher-kva.example?q", Url("https", "a_b.xn--bcher-kva.example", 443, "/?q")),
        ("http://192.0.2.1:80/", Url("http", "192.0.2.1", 80, "/")),
        ("http://[2001:DB8:0::1]/", Url("http", "2001:db8::1", 80, "/")),
        ("http://[::ffff:127.0.0.1]/", Url("http", "::ffff:7f00:1", 80, "/")),
        ("http://example.com/a@b:c//d?e=@", Url("http", "example.com", 80, "/a@b:c//d?e=@")),
        ("http://1.example/", Url("http", "1.example", 80, "/")),
        ("http://0x7f.example/", Url("http", "0x7f.example", 80, "/")),
    ],
)
def test_a_plain_url_is_taken_apart(text, url):
    assert parse(text) == url


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "example.com",
            "//example.com/",
            "ftp://example.com/",
            "file:///etc/passwd",
            "gopher://a/",
            "http:/a",
            "http:a",
        ),
        *("http://", "http:///path", "http://:80/", "http://a:0/", "http://a:65536/", "http://a:b/", "http://a:80:80/"),
        *("http://user@a/", "http://user:pass@a/", "http://@a/", "http://a@127.0.0.1/", "http://127.0.0.1@a/"),
        *(
            "http://a\\@b/",
            "http://a\\b/",
            "http://a/\\",
            "http:\\\\a/",
            "http://a b/",
            "http://a/ b",
            "http://a\t/",
            " http://a/",
        ),
        *("http://a\r\nhost: b/", "http://a/\r\nx: y", "http://a\0/", "http://a/\x7f", "http://é/", "http://a/é"),
        *("http://\uff11\uff12\uff17.0.0.1/", "http://127。0。0。1/", "http://ⓛocalhost/"),
        *("http://127.1/", "http://127.0.1/", "http://127/", "http://2130706433/", "http://0/", "http://0.0.0.0.0/"),
        *("http://0177.0.0.1/", "http://127.0.0.01/", "http://0x7f.0.0.1/", "http://0x7f000001/", "http://0X7F.1/"),
        *("http://256.1.1.1/", "http://127.0.0.1./", "http://1.2.3.4.5/", "http://a.0x/", "http://a.1/", "http://-1/"),
        *("http://[::1%25lo]/", "http://[fe80::1%eth0]/", "http://[::1/", "http://::1/", "http://[127.0.0.1]/"),
        *(
            "http://[::1]x/",
            "http://[::1]:/x:",
            "http://[[::1]]/",
            "http://[]/",
            "http://[v1.a]/",
            "http://[::ffff:127.1]/",
        ),
        *(
            "http://localhost./",
            "http://a../",
            "http://.a/",
            "http://-a/",
            "http://a-/",
            "http://a%2eb/",
            "http://%6c/",
        ),
        *(
            "http://" + "a" * 64 + "/",
            "http://" + "a." * 127 + "com/",
            "http://a/" + "b" * 9000,
            "http://a,b/",
            "http://a;b/",
        ),
    ],
)
def test_anything_else_is_refused_with_a_reason(text):
    with pytest.raises(BadUrl) as raised:
        parse(text)
    assert len(raised.value.why) > 10


@pytest.mark.parametrize(
    ("text", "authority", "address"),
    [
        ("https://example.com:443/", "example.com", None),
        ("http://example.com:443/", "example.com:443", None),
        ("http://[::1]:8080/", "[::1]:8080", ip_address("::1")),
        ("http://[::1]/", "[::1]", ip_address("::1")),
        ("http://127.0.0.1/", "127.0.0.1", ip_address("127.0.0.1")),
    ],
)
def test_what_is_sent_is_made_from_the_parts(text, authority, address):
    assert parse(text).authority == authority
    assert parse(text).address == address
