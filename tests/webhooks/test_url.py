"""How a webhook's URL is parsed, and the part of it that is sent."""

import pytest

from timeball.targets.http.addresses import UncallableError, Url, parse_url


@pytest.mark.parametrize(
    ("text", "url", "origin"),
    [
        ("http://a.example", Url("http", "a.example", 80, ""), "http://a.example"),
        ("HTTPS://A_b.Example./x", Url("https", "a_b.example.", 443, "/x"), "https://a_b.example."),
        ("https://a.example:/?q", Url("https", "a.example", 443, "/?q"), "https://a.example"),
        ("http://a.example:443?q=[1]", Url("http", "a.example", 443, "?q=[1]"), "http://a.example:443"),
        ("https://a.example:0443", Url("https", "a.example", 443, ""), "https://a.example"),
        ("http://203.0.113.7:8080/", Url("http", "203.0.113.7", 8080, "/"), "http://203.0.113.7:8080"),
        ("https://[2606:4700::A]:8443/x", Url("https", "2606:4700::a", 8443, "/x"), "https://[2606:4700::a]:8443"),
        ("https://[::ffff:1.1.1.1]", Url("https", "::ffff:1.1.1.1", 443, ""), "https://[::ffff:1.1.1.1]"),
        ("https://a.example/{x}%7b", Url("https", "a.example", 443, "/%7Bx%7D%7b"), "https://a.example"),
    ],
)
def test_a_url_is_parsed(text: str, url: Url, origin: str) -> None:
    assert (parse_url(text), url.origin) == (url, origin)


@pytest.mark.parametrize(
    "text",
    [
        "http://user:s3cret@a.example/",
        "http://user@a.example/",
        "http://b.example@a.example/",
        "http://a.example\\@b.example/",
        "http://a.example#@b.example/",
        "http://a.example/#fragment",
        "http://a.example /",
        "http://a.example/a b",
        "http://a.example/\r\nX-A: b",
        "http://a.example/\t",
        "http://a.example/caf\u00e9",
        "http://b\u00fccher.example/",
        "http://%61.example/",
        "http://a.example:0/",
        "http://a.example:65536/",
        "http://a.example:8x/",
        "http://a.example:80:80/",
        "http://[1.2.3.4]/",
        "http://[fe80::1%25lo]/",
        "http://[::1/",
        "http://::1/",
        "http:///a",
        "http:a.example",
        "http://" + "a" * 254,
    ],
)
def test_an_ambiguous_url_is_refused(text: str) -> None:
    with pytest.raises(UncallableError) as told:
        parse_url(text)
    assert str(told.value) in {
        "The target's url is malformed.",
        "The target's url must begin with https:// or http://.",
    }
