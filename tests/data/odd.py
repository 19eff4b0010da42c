"""Files as people's recorders, spreadsheets, editors and downloads leave them, made here.

`FILES` has each with what `doctor data.path=FILE` comes to: an exit code, and words that it says.
"""

import gzip
import io
import struct
import unicodedata
import zipfile
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import soundfile

RATE, SECONDS = 16_000, 12
VERSE = "Wär ich ein Vöglein, flög ich zu dir; weil's aber nicht kann sein, bleib ich allhier.\n"
TEXT = "".join(f"{n}. {VERSE}" for n in range(400))


def tone(rate: int = RATE) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """A decaying note every half second."""
    time = np.arange(SECONDS * rate) / rate
    wave: np.ndarray[tuple[int], np.dtype[np.float64]] = (
        0.4 * np.sin(1382 * time) * np.exp(-2 * (2 * time % 1))
    )
    return wave


PCM = (tone() * 32767).astype("<i2").tobytes()


def riff(
    data: bytes = PCM,
    *,
    bits: int = 16,
    each: int = 2,
    form: int = 1,
    channels: int = 1,
    size: int | None = None,
    whole: int | None = None,
    before: bytes = b"",
    after: bytes = b"",
    rate: int = RATE,
    head: bytes = b"RIFF",
    order: str = "<",
) -> bytes:
    """A WAV whose header says this; `each` are the bytes of a frame, `size` those of the data."""
    numbers = (16, form, channels, rate, rate * each, each, bits)
    chunk = b"fmt " + struct.pack(f"{order}IHHIIHH", *numbers)
    said = len(data) if size is None else size
    body = b"WAVE" + before + chunk + b"data" + struct.pack(f"{order}I", said) + data + after
    return head + struct.pack(f"{order}I", len(body) if whole is None else whole) + body


def written(form: str, subtype: str | None = None, rate: int = RATE, channels: int = 1) -> bytes:
    """The tone as soundfile writes it."""
    out = io.BytesIO()
    frames = np.repeat(tone(rate)[:, None], channels, 1)
    soundfile.write(out, frames, rate, subtype, format=form)
    return out.getvalue()


def floats(place: int, value: float, times: float = 1.0) -> bytes:
    """A WAV of floats with one sample of this value."""
    wave = (tone() * times).astype("<f4")
    wave[place] = value
    return riff(wave.tobytes(), bits=32, each=4, form=3)


def chunk(name: bytes, content: bytes, *, padded: bool = True) -> bytes:
    """A chunk of a RIFF file."""
    return name + struct.pack("<I", len(content)) + content + b"\0" * (padded and len(content) % 2)


def archive(**files: str) -> bytes:
    """A zip, which .docx, .epub and .odt are, too."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, text in files.items():
            packed.writestr(name.replace("__", "/"), text)
    return out.getvalue()


IN_4_BYTES = ((tone() * 2**23).astype("<i4") & 0xFFFFFF).tobytes()
IN_24 = np.frombuffer((tone() * 2**23).astype("<i4").tobytes(), np.uint8).reshape(-1, 4)[:, :3]
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 12345\n"
PAGE = (
    b"<!DOCTYPE html><html><head><title>404 Not Found</title></head><body>Not Found</body></html>"
)
ID3 = b"ID3\x03\0\0\0\0\x02\0" + bytes(256)


class Odd(NamedTuple):
    """A file, and what becomes of it: `says` is among what doctor prints."""

    name: str
    content: Callable[[], bytes]
    code: int
    says: str

    @property
    def keys(self) -> list[str]:
        """What makes the reading short: samples are no frames whose codec is fitted."""
        return (
            []
            if self.name.endswith(
                (".txt", ".html", ".jsonl", ".docx", ".epub", ".pdf", ".rtf", ".gz", ".mid")
            )
            else ["recipe=wav_generation"]
        )


SOUND, WORDS = "0:12 at", "symbols"
FILES = (
    Odd("pcm16.wav", riff, 0, SOUND),
    Odd("PCM16.WAV", riff, 0, SOUND),
    Odd(
        "pcm8.wav",
        lambda: riff(((tone() + 1) * 127.5).astype("u1").tobytes(), bits=8, each=1),
        0,
        SOUND,
    ),
    Odd("pcm24.wav", lambda: riff(IN_24.tobytes(), bits=24, each=3), 0, SOUND),
    Odd("s24_in_4_bytes.wav", lambda: riff(IN_4_BYTES, bits=24, each=4), 0, SOUND),
    Odd("no_channels.wav", lambda: riff(bits=24, each=0, channels=0), 3, "no channels"),
    Odd(
        "pcm32.wav",
        lambda: riff((tone() * 2**31).astype("<i4").tobytes(), bits=32, each=4),
        0,
        SOUND,
    ),
    Odd(
        "float64.wav",
        lambda: riff(tone().astype("<f8").tobytes(), bits=64, each=8, form=3),
        0,
        SOUND,
    ),
    Odd("alaw.wav", lambda: written("WAV", "ALAW"), 0, SOUND),
    Odd("ulaw.wav", lambda: written("WAV", "ULAW"), 0, SOUND),
    Odd("ima_adpcm.wav", lambda: written("WAV", "IMA_ADPCM"), 0, SOUND),
    Odd("ms_adpcm.wav", lambda: written("WAV", "MS_ADPCM"), 0, SOUND),
    Odd("gsm.wav", lambda: written("WAV", "GSM610", 8000), 0, SOUND),
    Odd("extensible.wav", lambda: written("WAVEX", "PCM_24"), 0, SOUND),
    Odd("rf64.wav", lambda: written("RF64"), 0, SOUND),
    Odd("sony.w64", lambda: written("W64"), 0, SOUND),
    Odd("mac.aiff", lambda: written("AIFF"), 0, SOUND),
    Odd("sun.au", lambda: written("AU"), 0, SOUND),
    Odd("apple.caf", lambda: written("CAF"), 0, SOUND),
    Odd("nist.sph", lambda: written("NIST"), 3, "cannot be read as sound"),
    Odd("voc.voc", lambda: written("VOC", "PCM_16"), 0, SOUND),
    Odd("flac24.flac", lambda: written("FLAC", "PCM_24"), 0, SOUND),
    Odd("tagged.flac", lambda: ID3 + written("FLAC"), 0, SOUND),
    Odd("vorbis.ogg", lambda: written("OGG", "VORBIS"), 0, SOUND),
    Odd("opus.opus", lambda: written("OGG", "OPUS"), 0, SOUND),
    Odd("layer3.mp3", lambda: written("MP3", "MPEG_LAYER_III"), 0, SOUND),
    Odd("mp3_called.wav", lambda: written("MP3", "MPEG_LAYER_III"), 0, SOUND),
    Odd("wav_called.mp3", riff, 0, SOUND),
    Odd("no_ending", riff, 0, SOUND),
    Odd("cut_off_0.wav", lambda: riff(size=0, whole=0), 0, SOUND),
    Odd("piped.wav", lambda: riff(size=0xFFFFFFFF, whole=0xFFFFFFFF), 0, SOUND),
    Odd(
        "piped_ffmpeg.wav",
        lambda: riff(
            size=0xFFFFFFFF,
            whole=0xFFFFFFFF,
            before=chunk(b"LIST", b"INFOISFT\x0e\0\0\0Lavf58.76.100\0"),
        ),
        0,
        SOUND,
    ),
    Odd("16_too_many.wav", lambda: riff(size=len(PCM) + 16, whole=len(PCM) + 52), 0, SOUND),
    Odd("cut_short.wav", lambda: riff()[: 44 + len(PCM) // 2], 3, "truncated"),
    Odd("half_a_sample.wav", lambda: riff(PCM + b"\1"), 0, SOUND),
    Odd(
        "chunks_before.wav",
        lambda: riff(before=chunk(b"bext", bytes(602)) + chunk(b"junk", bytes(28))),
        0,
        SOUND,
    ),
    Odd(
        "odd_chunk_unpadded.wav",
        lambda: riff(before=chunk(b"LIST", b"INFOx", padded=False)),
        3,
        "cannot be read as sound",
    ),
    Odd("tags_after.wav", lambda: riff(after=chunk(b"id3 ", ID3) + b"trailing"), 0, SOUND),
    Odd(
        "big_end.wav",
        lambda: riff((tone() * 32767).astype(">i2").tobytes(), head=b"RIFX", order=">"),
        0,
        SOUND,
    ),
    Odd("5.1.wav", lambda: written("WAV", channels=6), 0, SOUND),
    Odd("192_khz.wav", lambda: written("WAV", rate=192_000), 0, SOUND),
    Odd("rate_0.wav", lambda: riff(rate=0), 3, "rate"),
    Odd("rate_1.wav", lambda: riff(rate=1), 3, "rate"),
    Odd("bits_0.wav", lambda: riff(bits=0, each=0), 3, "bits_0.wav"),
    Odd("form_99.wav", lambda: riff(form=99), 3, "form_99.wav"),
    Odd("nan.wav", lambda: floats(3000, np.nan), 3, "sample 3000 is not finite"),
    Odd("1e20.wav", lambda: floats(3000, 1e20), 3, "1e+20"),
    Odd("300.wav", lambda: floats(3000, 300), 3, "300"),
    Odd("over.wav", lambda: floats(0, 0, times=4), 0, SOUND),
    Odd("no_samples.wav", lambda: riff(b""), 3, "no samples"),
    Odd("empty.wav", bytes, 3, "empty"),
    Odd("zeros.wav", lambda: bytes(40_000), 3, "zeros.wav"),
    Odd("silence.wav", lambda: riff(bytes(2 * RATE * SECONDS)), 3, "silen"),
    Odd("header_cut.wav", lambda: riff()[:30], 3, "header_cut.wav"),
    Odd("flac_cut.flac", lambda: written("FLAC")[:40_000], 3, "truncated or damaged"),
    Odd("page.wav", lambda: PAGE, 3, "page.wav"),
    Odd("pointer.wav", lambda: LFS, 3, "git lfs pull"),
    Odd("samples.pcm", lambda: PCM, 3, "rate"),
    Odd("samples.wav", lambda: PCM, 3, "samples.wav"),
    Odd("melody.mid", lambda: b"MThd\0\0\0\6\0\1\0\1\1\xe0MTrk" + bytes(500), 3, "MIDI"),
    Odd("playlist.m3u", lambda: b"#EXTM3U\n#EXTINF:123,Song\nsong.mp3\n", 3, "playlist"),
    Odd("zipped.wav", lambda: archive(a="x" * 1000), 3, "zipped.wav"),
    Odd("plain.txt", TEXT.encode, 0, WORDS),
    Odd("mark.txt", lambda: TEXT.encode("utf-8-sig"), 0, WORDS),
    Odd("utf16.txt", lambda: TEXT.encode("utf-16"), 3, "data.encoding=utf-16"),
    Odd("utf16_big.txt", lambda: b"\xfe\xff" + TEXT.encode("utf-16-be"), 3, "data.encoding=utf-16"),
    Odd("utf16_no_mark.txt", lambda: TEXT.encode("utf-16-le"), 3, "data.encoding=utf-16-le"),
    Odd("utf16_big_no_mark.txt", lambda: TEXT.encode("utf-16-be"), 3, "data.encoding=utf-16-be"),
    Odd("utf32.txt", lambda: TEXT.encode("utf-32"), 3, "data.encoding=utf-32"),
    Odd("latin1.txt", lambda: TEXT.encode("latin-1"), 3, "data.encoding="),
    Odd("quotes.txt", lambda: ("“Wär’ ich”" + TEXT).encode("cp1252"), 3, "data.encoding="),
    Odd(
        "russian.txt",
        lambda: ("Мороз и солнце; день чудесный\n" * 200).encode("cp1251"),
        3,
        "data.encoding=",
    ),
    Odd(
        "japanese.txt",
        lambda: ("古池や蛙飛びこむ水の音\n" * 200).encode("shift-jis"),
        3,
        "data.encoding=",
    ),
    Odd("dos.txt", lambda: TEXT.replace("\n", "\r\n").encode(), 0, WORDS),
    Odd("old_mac.txt", lambda: TEXT.replace("\n", "\r").encode(), 0, WORDS),
    Odd("decomposed.txt", lambda: unicodedata.normalize("NFD", TEXT).encode(), 0, "composed"),
    Odd("nul.txt", (TEXT + "\0").encode, 0, WORDS),
    Odd("emoji.txt", ("👩‍👩‍👧 ok 🇩🇪\n" * 300).encode, 0, WORDS),
    Odd("one_line.txt", lambda: TEXT.replace("\n", " ").encode(), 0, WORDS),
    Odd("one_letter.txt", lambda: b"a" * 5000, 0, "1"),
    Odd("blank.txt", lambda: b" \n" * 3000, 0, "the text is blank"),
    Odd("empty.txt", bytes, 3, "empty"),
    Odd("pointer.txt", lambda: LFS, 3, "git lfs pull"),
    Odd(
        "letter.docx",
        lambda: archive(**{"word__document.xml": "<w:t>x</w:t>" * 99}),
        3,
        "plain text",
    ),
    Odd("book.epub", lambda: archive(mimetype="application/epub+zip"), 3, "plain text"),
    Odd("paper.pdf", lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + TEXT.encode(), 3, "plain text"),
    Odd(
        "letter.rtf", lambda: b"{\\rtf1\\ansi\\deff0 {\\fonttbl} W\\'e4r ich}" * 40, 3, "plain text"
    ),
    Odd("packed.txt.gz", lambda: gzip.compress(TEXT.encode()), 3, "plain text"),
    Odd("saved.html", lambda: b"<html><body>" + TEXT.encode() + b"</body></html>", 0, WORDS),
    Odd("chat.jsonl", lambda: b'{"text": "hello"}\n' * 400, 0, WORDS),
)
