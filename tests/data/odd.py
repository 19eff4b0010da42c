"""Files as people's recorders, spreadsheets, editors and downloads leave them, made here.

`FILES` has each with what `doctor data.path=FILE` comes to: an exit code, and words that it says.
"""

import base64
import gzip
import html
import io
import json
import quopri
import re
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

ANTIPHASE = (np.outer(tone(), [1, -1]) * 32767).astype("<i2").tobytes()


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


def chunk(name: bytes, content: bytes) -> bytes:
    """A chunk of a RIFF file."""
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def archive(**files: str) -> bytes:
    """A zip, which .docx, .epub and .odt are, too."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, text in files.items():
            packed.writestr(name.replace("__", "/"), text)
    return out.getvalue()


def extensible(form: int, data: bytes, bits: int, each: int, valid: int) -> bytes:
    """A WAV whose format stands in a longer chunk."""
    numbers = (0xFFFE, 1, RATE, RATE * each, each, bits, 22, valid, 4, form)
    identity = bytes.fromhex("000000001000800000aa00389b71")
    known = struct.pack("<HHIIHHHHIH", *numbers) + identity
    body = b"WAVE" + chunk(b"fmt ", known) + chunk(b"data", data)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def aifc(kind: bytes, data: bytes, bits: int) -> bytes:
    """An AIFF-C with samples of a kind."""
    rate = struct.pack(">HQ", 16383 + 13, RATE << (63 - 13))
    common = struct.pack(">hIh", 1, 8 * len(data) // bits, bits) + rate + kind + b"\0\0"
    body = b"AIFCFVER" + struct.pack(">II", 4, 0xA2805140)
    body += b"COMM" + struct.pack(">I", len(common)) + common
    body += b"SSND" + struct.pack(">I", 8 + len(data)) + bytes(8) + data
    return b"FORM" + struct.pack(">I", len(body)) + body


def untold(content: bytes, begin: int, size: int, byte: bytes) -> bytes:
    """A file whose header does not say its length, as of a pipe."""
    return content[:begin] + size * byte + content[begin + size :]


def sizes(*numbers: int) -> bytes:
    """The chunk of an RF64 or BW64 file that has its sizes."""
    return chunk(b"ds64", struct.pack("<QQQI", *numbers, 0))


IN_4_BYTES = ((tone() * 2**23).astype("<i4") & 0xFFFFFF).tobytes()
IN_24 = np.frombuffer((tone() * 2**23).astype("<i4").tobytes(), np.uint8).reshape(-1, 4)[:, :3]
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 12345\n"
DENIED = b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code><Message>x</Message></Error>'
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
        others = (".txt", ".html", ".jsonl", ".docx", ".epub", ".pdf", ".rtf", ".gz", ".mid")
        by_content = self.name.endswith(others) or "." not in self.name
        return [] if by_content else ["recipe=wav_generation"]


def sound(name: str, content: Callable[[], bytes]) -> Odd:
    """It is read as twelve seconds."""
    return Odd(name, content, 0, "0:12 at")


def text(name: str, content: Callable[[], bytes]) -> Odd:
    return Odd(name, content, 0, "read as text")


def refused(name: str, content: Callable[[], bytes], says: str) -> Odd:
    return Odd(name, content, 3, says)


OLD = {
    "cp1252": VERSE, "cp437": VERSE, "macintosh": VERSE, "cp1251": "Мороз и солнце\n",
    "koi8-r": "Мороз и солнце\n", "cp932": "古池や蛙飛びこむ水の音\n", "big5hkscs": "床前明月光\n",
    "cp949": "안녕하세요\n", "iso8859-2": "Škoda\n", "cp1253": "Ελλάδα\n", "cp1256": "مرحبا\n",
}  # fmt: skip
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")


def encoded(encoding: str, line: str = "") -> Odd:
    """Text of lines, or the verse, in an encoding, which is named, with how it reads."""
    says = f"{encoding} («{line[:4]}" if line else f"data.encoding={encoding} "
    return refused(f"{encoding}.txt", lambda: (200 * line or TEXT).encode(encoding), says)


FILES = (
    sound("pcm16.wav", riff),
    sound("PCM16.WAV", riff),
    sound("pcm8.wav", lambda: riff(((tone() + 1) * 127.5).astype("u1").tobytes(), bits=8, each=1)),
    sound("pcm24.wav", lambda: riff(IN_24.tobytes(), bits=24, each=3)),
    refused("s24_in_4_bytes.wav", lambda: riff(IN_4_BYTES, bits=24, each=4), "in three bytes"),
    refused("no_channels.wav", lambda: riff(bits=24, each=0, channels=0), "no_channels.wav"),
    sound("pcm32.wav", lambda: riff((tone() * 2**31).astype("<i4").tobytes(), bits=32, each=4)),
    sound("float64.wav", lambda: riff(tone().astype("<f8").tobytes(), bits=64, each=8, form=3)),
    sound("alaw.wav", lambda: written("WAV", "ALAW")),
    sound("ulaw.wav", lambda: written("WAV", "ULAW")),
    sound("ima_adpcm.wav", lambda: written("WAV", "IMA_ADPCM")),
    sound("ms_adpcm.wav", lambda: written("WAV", "MS_ADPCM")),
    sound("gsm.wav", lambda: written("WAV", "GSM610", 8000)),
    sound("extensible.wav", lambda: written("WAVEX", "PCM_24")),
    sound("rf64.wav", lambda: written("RF64")),
    sound("sony.w64", lambda: written("W64")),
    sound("mac.aiff", lambda: written("AIFF")),
    sound("sun.au", lambda: written("AU")),
    sound("apple.caf", lambda: written("CAF")),
    sound("nist.sph", lambda: written("NIST")),
    refused("paris.paf", lambda: written("PAF"), "of another format, or damaged"),
    refused("psion.wve", lambda: written("WVE", "ALAW", 8000), "of another format, or damaged"),
    refused(
        "album.dsf",
        lambda: (
            struct.pack("<4sQQQ", b"DSD ", 28, 381_020, 0)
            + struct.pack("<4sQ6IQII", b"fmt ", 52, 1, 0, 1, 1, 2822400, 1, 3_047_424, 4096, 0)
            + struct.pack("<4sQ", b"data", 380_940)
            + PCM[:380_928]
        ),
        "`ffmpeg -i album.dsf NEW.wav`",
    ),
    sound("voc.voc", lambda: written("VOC", "PCM_16")),
    sound("flac24.flac", lambda: written("FLAC", "PCM_24")),
    sound("tagged.flac", lambda: ID3 + written("FLAC")),
    sound("vorbis.ogg", lambda: written("OGG", "VORBIS")),
    sound("opus.opus", lambda: written("OGG", "OPUS")),
    sound("layer3.mp3", lambda: written("MP3", "MPEG_LAYER_III")),
    sound("mp3_called.wav", lambda: written("MP3", "MPEG_LAYER_III")),
    sound("wav_called.mp3", riff),
    sound("no_ending", riff),
    sound("cut_off_0.wav", lambda: riff(size=0, whole=0)),
    sound("piped.wav", lambda: riff(size=0xFFFFFFFF, whole=0xFFFFFFFF)),
    sound("16_too_many.wav", lambda: riff(size=len(PCM) + 16, whole=len(PCM) + 52)),
    refused("cut_short.wav", lambda: riff()[: 44 + len(PCM) // 2], "truncated"),
    refused("cut_short", lambda: riff()[: 44 + len(PCM) // 2], "truncated"),
    refused("header_cut", lambda: riff()[:30], "truncated"),
    sound("half_a_sample.wav", lambda: riff(PCM + b"\1")),
    sound(
        "chunks_before.wav",
        lambda: riff(before=chunk(b"bext", bytes(602)) + chunk(b"junk", bytes(28))),
    ),
    sound("tags_after.wav", lambda: riff(after=chunk(b"id3 ", ID3) + b"trailing")),
    sound(
        "big_end.wav",
        lambda: riff((tone() * 32767).astype(">i2").tobytes(), head=b"RIFX", order=">"),
    ),
    sound("5.1.wav", lambda: written("WAV", channels=6)),
    sound("192_khz.wav", lambda: written("WAV", rate=192_000)),
    refused("rate_0.wav", lambda: riff(rate=0), "rate"),
    refused("rate_1.wav", lambda: riff(rate=1), "rate"),
    refused("bits_0.wav", lambda: riff(bits=0, each=0), "bits_0.wav"),
    refused("form_99.wav", lambda: riff(form=99), "form_99.wav"),
    refused("nan.wav", lambda: floats(3000, np.nan), "sample 3000 is not finite"),
    refused("1e20.wav", lambda: floats(3000, 1e20), "1e+20"),
    refused("300.wav", lambda: floats(3000, 300), "300"),
    sound("over.wav", lambda: floats(0, 0, times=4)),
    refused("no_samples.wav", lambda: riff(b""), "no samples"),
    refused("empty.wav", bytes, "empty"),
    refused("zeros.wav", lambda: bytes(40_000), "zeros.wav"),
    refused("silence.wav", lambda: riff(bytes(2 * RATE * SECONDS)), "20 ms can be heard\n"),
    refused("antiphase.wav", lambda: riff(ANTIPHASE, each=4, channels=2), "channel=0"),
    refused("stereo.wav", lambda: riff(bytes(4 * RATE * SECONDS), each=4, channels=2), "heard\n"),
    refused("constant.wav", lambda: riff(RATE * SECONDS * b"\1\2"), "20 ms can be heard\n"),
    refused("flac_cut.flac", lambda: written("FLAC")[:40_000], "truncated or damaged"),
    refused("page.wav", lambda: PAGE, "page.wav"),
    refused("pointer.wav", lambda: LFS, "git lfs pull"),
    refused("samples.pcm", lambda: PCM, "-f s16le -ar 44100 -ac 1"),
    refused("samples.wav", lambda: PCM, "samples.wav"),
    refused("melody.mid", lambda: b"MThd\0\0\0\6\0\1\0\1\1\xe0MTrk" + bytes(500), "melody.mid"),
    refused("playlist.m3u", lambda: b"#EXTM3U\n#EXTINF:123,Song\nsong.mp3\n", "playlist"),
    refused("zipped.wav", lambda: archive(a="x" * 1000), "zipped.wav"),
    text("plain.txt", TEXT.encode),
    text("mark.txt", lambda: TEXT.encode("utf-8-sig")),
    *(encoded(encoding) for encoding in WIDE),
    *(encoded(encoding, line) for encoding, line in OLD.items()),
    refused("utf16_big.txt", lambda: b"\xfe\xff" + TEXT.encode("utf-16-be"), "encoding=utf-16"),
    refused("utf16_dash.txt", lambda: f"—{TEXT}".encode("utf-16-le"), "data.encoding=utf-16-le"),
    refused("quotes.txt", lambda: ("“Wär’ ich”" + TEXT).encode("cp1252"), "cp1252 («“Wär’ ich”"),
    text("dos.txt", lambda: TEXT.replace("\n", "\r\n").encode()),
    text("old_mac.txt", lambda: TEXT.replace("\n", "\r").encode()),
    Odd("decomposed.txt", lambda: unicodedata.normalize("NFD", TEXT).encode(), 0, "composed"),
    text("nul.txt", (TEXT + "\0").encode),
    text("emoji.txt", ("👩‍👩‍👧 ok 🇩🇪\n" * 300).encode),
    text("one_line.txt", lambda: TEXT.replace("\n", " ").encode()),
    Odd("one_letter.txt", lambda: b"a" * 5000, 0, "1"),
    Odd("blank.txt", lambda: b" \n" * 3000, 0, "the text is blank"),
    refused("empty.txt", bytes, "empty"),
    refused("pointer.txt", lambda: LFS, "git lfs pull"),
    refused(
        "letter.docx", lambda: archive(**{"word__document.xml": "<w:t>x</w:t>" * 99}), "plain text"
    ),
    refused("book.epub", lambda: archive(mimetype="application/epub+zip"), "plain text"),
    refused("paper.pdf", lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + TEXT.encode(), "plain text"),
    refused(
        "letter.rtf", lambda: b"{\\rtf1\\ansi\\deff0 {\\fonttbl} W\\'e4r ich}" * 40, "plain text"
    ),
    refused("packed.txt.gz", lambda: gzip.compress(TEXT.encode()), "plain text"),
    # The rest was found in reports on other programs.
    sound("float_extensible.wav", lambda: extensible(3, tone().astype("<f4").tobytes(), 32, 4, 32)),
    sound(
        "24_in_32.wav",
        lambda: extensible(1, (tone() * 2**31).astype("<i4").tobytes(), 32, 4, 24),
    ),
    sound("12_in_16.wav", lambda: riff(bits=12)),
    sound("block_0.wav", lambda: riff(each=0)),
    sound("filler.wav", lambda: riff(before=chunk(b"FLLR", bytes(4044)))),
    sound("zoom.wav", lambda: riff(before=chunk(b"LIST", b"INFO" + bytes(393_160)))),
    sound("zeros_after.wav", lambda: riff() + bytes(70_000)),
    sound("two_data.wav", lambda: riff(after=chunk(b"data", PCM))),
    refused(
        "unpadded.wav",
        lambda: riff(before=b"LIST" + struct.pack("<I", 17) + b"INFOISFT\5\0\0\0Lavf\0"),
        "cannot be read as sound",
    ),
    refused("tags_before.wav", lambda: ID3 + riff(), "tail -c +267"),
    refused("line_before.wav", lambda: b"\n" + riff(), "tail -c +2"),
    refused("answer.wav", lambda: b"HTTP/1.1 200 OK\r\n\r\n" + riff(), "tail -c +20"),
    sound(
        "bw64.wav",
        lambda: riff(
            head=b"BW64",
            size=2**32 - 1,
            whole=2**32 - 1,
            before=sizes(len(PCM) + 80, len(PCM), len(PCM) // 2),
        ),
    ),
    refused(
        "rf64_cut_off.wav",
        lambda: riff(head=b"RF64", size=2**32 - 1, whole=2**32 - 1, before=sizes(0, 0, 0)),
        "printf RIFF",
    ),
    sound(
        "rf64_mended.wav",
        lambda: riff(size=2**32 - 1, whole=2**32 - 1, before=sizes(0, 0, 0)),
    ),
    sound("sowt.aifc", lambda: aifc(b"sowt", PCM, 16)),
    sound("fl32.aifc", lambda: aifc(b"fl32", tone().astype(">f4").tobytes(), 32)),
    sound("ulaw.aifc", lambda: written("AIFF", "ULAW")),
    sound("piped.au", lambda: untold(written("AU"), 8, 4, b"\xff")),
    sound(
        "piped.caf", lambda: untold(found := written("CAF"), found.index(b"data") + 4, 8, b"\xff")
    ),
    sound("piped.flac", lambda: untold(written("FLAC"), 22, 4, b"\0")),
    Odd("chained.ogg", lambda: 2 * written("OGG", "VORBIS"), 0, "0:24 at"),
    Odd("joined.mp3", lambda: 2 * written("MP3", "MPEG_LAYER_III"), 0, "0:24 at"),
    sound("tagged_twice.mp3", lambda: 2 * ID3 + written("MP3", "MPEG_LAYER_III")),
    sound("junk_before.mp3", lambda: bytes(3000) + written("MP3", "MPEG_LAYER_III")),
    refused("quota.wav", lambda: b'{"error": {"code": 403}}', "of the server"),
    refused("packed.wav", lambda: gzip.compress(riff()), "unpack it"),
    refused("._sound.wav", lambda: b"\0\5\x16\7\0\2\0\0Mac OS X" + bytes(4000), "a Mac keeps"),
    refused("integers.wav", lambda: floats(0, 0, times=32768), "divide whole numbers by 32768"),
    refused(
        "russian_wide.txt",
        lambda: ("Мороз и солнце; день чудесный\n" * 200).encode("utf-16-le"),
        "data.encoding=utf-16-le",
    ),
    Odd("mixed_ends.txt", lambda: TEXT.replace("r.\n", "r.\r\n", 300).encode(), 0, "CR stands 300"),
    Odd(
        "wrapped_twice.txt",
        lambda: TEXT.replace("\n", "\r\r\n").encode(),
        0,
        "`perl -pe 's/\\r+$//",
    ),
    Odd(
        "scraped.txt",
        lambda: TEXT.replace(", ", "\u2028").replace(" ", "\xa0").encode(),
        0,
        "xa0/ /g",
    ),
    Odd("colours.txt", lambda: re.sub("n", "\x1b[1;32mn\x1b[0m", TEXT).encode(), 0, "[0-9;?]*"),
    Odd(
        "film.txt",
        lambda: b"7\n00:00:07,000 --> 00:00:09,900\nNo!\n\n" * 300,
        0,
        "times of subtitles",
    ),
    text("mail_header.txt", lambda: b"Subject: =?UTF-8?Q?J=C3=B6rg?= www.a.org/b?c=d\n" * 300),
    refused("corpus.tar.txt", lambda: bytes(257) + b"ustar" + bytes(9999), "tar -xf"),
    refused("safari.txt", lambda: b"bplist00\xd1_\x10\x0fWebMainResource" + bytes(99), "Safari"),
    refused("book.azw.txt", lambda: b"\xeaDRMION\xee" + PCM[:9000], "not protected"),
    refused("office.ds2", lambda: b"\3ds2\1\0" + PCM[:9000], "make a WAV"),
    Odd(
        "plots.txt", lambda: TEXT.encode() + base64.b64encode(PCM[:60_000]), 0, "looks like base64"
    ),
    refused("wechat.amr", lambda: b"\2#!SILK_V3" + PCM[:9000], "in SILK"),
    refused("voicemail.ulaw", lambda: PCM[1:], "-f mulaw -ar 8000 -ac 1"),
    refused(
        "mail.txt", lambda: ("古池や\n" * 200).encode("iso2022_jp"), "data.encoding=iso-2022-jp"
    ),
    refused("powershell.txt", lambda: TEXT.encode() + TEXT.encode("utf-16-le"), "begins about"),
    Odd("mail_body.txt", lambda: quopri.encodestring(TEXT.encode()), 0, "decode them first"),
    Odd(
        "page.csv.txt",
        lambda: html.escape(TEXT).encode("ascii", "xmlcharrefreplace"),
        0,
        "decode them",
    ),
    Odd("tweets.txt", lambda: json.dumps(TEXT).encode(), 0, "«\\u00e4»"),
    Odd("notebook.txt", lambda: base64.encodebytes(PCM), 0, "looks like base64"),
    Odd(
        "koi8_as_utf8.txt",
        lambda: TEXT.encode().decode("koi8-r").encode(),
        0,
        "in another encoding",
    ),
    Odd("man.txt", lambda: re.sub(r"(\w)", "\\1\b\\1", TEXT).encode(), 0, "x08//g"),
    refused(
        "oracle.txt", lambda: (TEXT + "\ud83d\ude00").encode("utf-8", "surrogatepass"), "iconv -c"
    ),
    Odd("twice.txt", lambda: TEXT.encode().decode("latin-1").encode(), 0, "in another encoding"),
    refused("utf8.wav", lambda: riff().decode("utf-8", "replace").encode(), "took it for text"),
    refused(
        "redirected.wav",
        lambda: b"\xff\xfe" + riff()[:500].decode("latin-1").encode("utf-16-le"),
        "took it for text",
    ),
    refused("wrapped.wav", lambda: riff(size=9000, whole=9036), "ffmpeg -ignore_length 1"),
    Odd(
        "swapped.wav",
        lambda: riff((tone() * 32767).astype(">i2").tobytes()),
        0,
        "look like no recording's",
    ),
    refused(
        "no_index.m4a",
        lambda: b"\0\0\0\x10ftypM4A isom\0\0\x10\0mdat" + PCM[:4088],
        "its index (moov)",
    ),
    refused("ftp.wav", lambda: riff().replace(b"\n", b"\r\n"), "took it for text"),
    refused("drive.txt", lambda: b"<html><head><title>Google Drive - Virus", "of the server"),
    refused("appended.txt", lambda: TEXT.encode("utf-16") + TEXT.encode(), "ends in UTF-8"),
    refused("surrogates.txt", lambda: TEXT.encode() + b"\xed\xa0\xbd\n" + b"x" * 99, "iconv -c"),
    Odd(
        "joined.txt", lambda: 2 * TEXT.encode("utf-8-sig"), 0, "1 character cannot be seen (U+FEFF)"
    ),
    Odd("copied.txt", lambda: TEXT.replace(" ", "\u200b ").encode(), 0, "cannot be seen (U+200B)"),
    Odd("c1.txt", lambda: TEXT.replace("'", "\x92").encode(), 0, "cannot be seen (U+0092)"),
    Odd("lossy.txt", lambda: TEXT.replace("ä", "\ufffd").encode(), 0, "U+FFFD stands 400 times"),
    refused("annex.txt", lambda: b"/annex/objects/SHA256E-s9--4d7a.txt\n", "git annex get"),
    refused("half_latin.txt", lambda: TEXT.encode() + TEXT.encode("latin-1"), "byte 37494"),
    Odd(
        "zeros_after.txt",
        lambda: TEXT.encode() + bytes(4096),
        0,
        "4096 characters cannot be seen (U+0000)",
    ),
    refused("two_rates.ogg", lambda: written("OGG") + written("OGG", rate=8000), "parts differ"),
    refused("float16.wav", lambda: riff(tone().astype("<f2").tobytes(), form=3), "cannot be read"),
    refused("cut.aiff", lambda: written("AIFF")[:200_000], "truncated: the header promises"),
    refused("cut_late.flac", lambda: written("FLAC")[:-900], "truncated"),
    sound("odd_chunk.wav", lambda: riff(before=chunk(b"LIST", b"abc"))),
    refused("cut.w64", lambda: written("W64")[:200_000], "truncated: the header promises"),
    refused("cut.au", lambda: written("AU")[:200_000], "truncated: the header promises"),
    refused("cut.caf", lambda: written("CAF")[:200_000], "truncated: the header promises"),
    refused("array.wav", lambda: b"\x93NUMPY\1\0" + bytes(range(99)), "soundfile.write"),
    refused("placeholder.wav", lambda: b"bplist00" + bytes(range(99)), "download that"),
    refused("cut_in_letter.txt", lambda: TEXT.encode() + "ü".encode()[:1], "iconv -c"),
    refused("denied.txt", lambda: DENIED, "an error of the server"),
    refused("page.txt", lambda: PAGE, "an error of the server"),
    refused("turned.txt", f"{TEXT}\ufffe".encode, "its byte order changes"),
    refused("letter.txt", lambda: archive(word__document="x" * 99), "plain text"),
    refused("rtf_called.txt", lambda: b"\r\n{\\rtf1 " + b"Wir " * 99 + b"}", "plain text"),
    refused("old_word.txt", lambda: b"\xd0\xcf\x11\xe0" + bytes(8000), "plain text"),
    refused("pointer_with_mark.txt", lambda: b"\xef\xbb\xbf" + LFS, "git lfs pull"),
    refused("store.txt", lambda: b"\0\0\0\1Bud1" + bytes(6140), "another program"),
    refused("tables.txt", lambda: b"SQLite format 3\0" + bytes(4000), "another program"),
    refused("picture.txt", lambda: b"\xff\xd8\xff\xe0\0\x10JFIF\0" * 99, "a picture"),
    Odd(
        "loud.wav",
        lambda: riff(np.clip(tone() * 2**20, -(2**15), 32767).astype("<i2").tobytes()),
        0,
        "over 1 %",
    ),
    text("quoted.csv.txt", lambda: b'id,text\n1,"He said ""no"", twice"\n' * 200),
    text("saved.html", lambda: b"<html><body>" + TEXT.encode() + b"</body></html>"),
    text("chat.jsonl", lambda: b'{"text": "hello"}\n' * 400),
)
