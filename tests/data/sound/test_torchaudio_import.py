"""A torchaudio that cannot be imported is none."""

import pytest

from seqkit.data.sound.torchaudio_import import torchaudio


@pytest.mark.parametrize("error", [ImportError, OSError, RuntimeError, AttributeError])
def test_an_import_that_fails_is_none(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise error(name)

    monkeypatch.setattr("seqkit.data.sound.torchaudio_import.importlib.import_module", fail)
    assert torchaudio.__wrapped__() is None
