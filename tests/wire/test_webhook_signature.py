"""Signatures of webhooks: what was signed is recognised, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dragoman.wire.key_patterns import without_keys
from dragoman.wire.webhook_signature import secret_of, signature, signing_key

keys = st.binary(min_size=24, max_size=64)
ids = st.from_regex(r"[a-z]+_[0-9a-f]{1,40}", fullmatch=True)
Signed = tuple[bytes, str, int, bytes]
signed = st.tuples(keys, ids, st.integers(0, 2**40), st.binary(max_size=200))


def test_the_example_of_the_specification_is_signed_as_there() -> None:
    key = signing_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    given_id, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}'
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signature(key, given_id, 1614265330, body) == expected


@given(keys)
def test_a_key_is_found_in_its_secret_and_in_no_log(key: bytes) -> None:
    secret = secret_of(key)
    assert signing_key(secret) == key
    assert without_keys(f"the secret is {secret}.") == "the secret is [redacted]."


@given(signed, signed)
def test_each_part_counts(one: Signed, other: Signed) -> None:
    assume(one != other)
    assert signature(*one) == signature(*one)
    assert signature(*one) != signature(*other)


@pytest.mark.parametrize(
    "secret",
    ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_" + "A" * 200,
     "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "whsec_not base64 at all, not at all !!", "ü" * 40],
)  # fmt: skip
def test_what_is_no_secret_is_refused_with_what_would_be_right(secret: str) -> None:
    with pytest.raises(ValueError, match='it must be "whsec_" and the base64 of 24 to 64'):
        signing_key(secret)
