"""The stand-in for PTB is the same on every machine."""

import hashlib

import pytest

from datasets import ptb

# Of the texts as they were first published, of PTB's size to the token, its vocabulary and frequencies of words: another digest is
# another corpus.
DIGESTS = {
    "train": "afcaf05ac59dbcd1cea4036223c4745c6a311f8a4ed5c2737bb671c910139a12",
    "valid": "40bf0992f338c5feb39b62c858a6c5fe87af6f8cae9b57c70ddf5ab69de9d6f3",
    "test": "cf4ecfc805ab9eb6618dfcb58eef94485417cc3fc0d7c6095addbf417b00d12e",
}


@pytest.mark.parametrize("split", DIGESTS)
def test_text_never_changes(split: str) -> None:
    assert hashlib.sha256(ptb.stand_in(split).encode()).hexdigest() == DIGESTS[split]
