"""Which addresses a webhook may have."""

import pytest

from quorate_service.addresses import NotAllowedAddress, allowed_addresses, checked_url, with_address
from tests.refusals import refused

REFUSED = [
    "ftp://example.org/", "file:///etc/passwd", "javascript:alert(1)", "https://", "//example.org", "example.org",
    "https://user:word@example.org/", "https://example.org/#part", "https://example.org:99999/", "https://[::1",
    "https://exa mple.org", "http://localhost/", "http://sub.localhost:8000/", "http://127.0.0.1/", "http://[::1]/",
    "http://10.1.2.3/", "http://192.168.0.1", "http://172.16.0.1", "http://169.254.169.254/", "http://0.0.0.0/",
    "http://[::ffff:10.0.0.1]/", "http://[fe80::1]/", "http://[fd00::1]/", "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/", "http://224.0.0.1/", "http://100.64.0.1/", "https://example.org\\@10.0.0.1/",
    "http://[fec0::1]/", "http://[feff::1]/", "http://[::127.0.0.1]/", "http://[::7f00:1]/", "http://[::10.0.0.1]/",
    "http://[::ffff:0:7f00:1]/", "http://[::ffff:0:127.0.0.1]/", "http://[5f00::1]/", "http://[100::1]/",
    "http://[4000::1]/", "http://[fc00::1]/", "http://[ff02::1]/", "http://240.0.0.1/", "http://255.255.255.255/",
    "http://[64:ff9b:1::7f00:1]/", "http://[2001:0:7f00:1::]/", "http://[2001:db8::1]/", "http://[::]/",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED)
def test_these_are_refused(url):
    with refused("url"):
        checked_url(url, allow_private=False)


TAKEN = [
    "https://example.org/a?b=c", "http://93.184.215.14:8080/", "https://münchen.example/", "https://8.8.8.8/",
    "https://[2606:4700:4700::1111]/", "https://[2a00:1450:4001:81b::200e]/", "http://[::ffff:8.8.8.8]/",
]  # fmt: skip


@pytest.mark.parametrize("url", TAKEN)
def test_these_are_taken(url):
    assert checked_url(url, allow_private=False) == url


def test_private_addresses_are_accepted_if_allowed():
    assert checked_url("http://127.0.0.1:9/", allow_private=True)
    assert allowed_addresses(["127.0.0.1"], allow_private=True) == ["127.0.0.1"]


def test_a_name_that_also_resolves_to_a_private_address_is_refused():
    with pytest.raises(NotAllowedAddress, match=r"10\.0\.0\.1"):
        allowed_addresses(["93.184.215.14", "10.0.0.1"], allow_private=False)


def test_the_address_that_was_checked_is_the_one_connected_to():
    from urllib.parse import urlsplit

    assert with_address(urlsplit("https://example.org:8443/a?b"), "2606::1") == "https://[2606::1]:8443/a?b"
