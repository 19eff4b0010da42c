"""What can be named: seqkit's own, installed packages', the user's; each fault with its name."""

import sys

import pytest

from seqkit.data import etude
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError
from tests.conftest import Write, install

DATASETS = """
class Squares:
    @staticmethod
    def locate(folders):
        raise AssertionError
DATASETS = {"squares": Squares()}
"""


def test_a_name_that_nothing_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        ConfigError, match=r"no codec named os\.system\. There are bytes, .*plugins="
    ):
        Catalogue().find("codecs", "os.system")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import no_such_module_here", "plugins=mine: cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(3)", "plugins=mine: cannot be imported: SystemExit: 3"),
        ("x = 1", "plugins=mine: the module has neither DATASETS nor CODECS"),
        ("DATASETS = ['a']", "plugins=mine: DATASETS is not a mapping"),
        ("DATASETS = {'a': 3}", "the data set a of plugins=mine has no function locate"),
        (DATASETS + "DATASETS['s'] = Squares", "the data set s of plugins=mine has no function"),
        ("CODECS = {'a': int}", "the codec a of plugins=mine is not a subclass of TextCodec"),
        (
            "from seqkit.data.codecs import Bytes\nCODECS = {'mine': Bytes}",
            "the codec mine of plugins=mine calls itself 'bytes'",
        ),
    ],
)
def test_a_module_with_a_fault_is_refused_at_once(write: Write, text: str, said: str) -> None:
    write("mine.py", text)
    with pytest.raises(ConfigError, match=said):
        Catalogue(["mine"])


def test_an_installed_package_is_imported_when_it_is_used(write: Write) -> None:
    groups = "[seqkit.datasets]\nsquares = pkg_a\nfaulty = pkg_a.faulty\n"
    install(write, "pkg_a", groups)
    write("pkg_a/__init__.py", "def locate(folders): ...\n")
    write("pkg_a/faulty.py", "1 / 0\n")
    catalogue = Catalogue()
    assert {"squares", "faulty", "etude"} <= set(catalogue.names("datasets"))
    assert "pkg_a" not in sys.modules
    assert callable(catalogue.find("datasets", "squares").locate)
    said = "the data set faulty of the package pkg_a cannot be loaded: ZeroDivisionError"
    with pytest.raises(ConfigError, match=said):
        catalogue.find("datasets", "faulty")


def test_of_several_with_one_name_the_first_counts(write: Write) -> None:
    install(write, "pkg_d", "[seqkit.datasets]\nsquares = pkg_d\netude = pkg_d\n")
    write("pkg_d/__init__.py", "locate = 3\n")
    write("mine.py", DATASETS)
    write("yours.py", DATASETS)
    found = Catalogue(["yours", "mine"]).find("datasets", "squares")
    assert type(found).__module__ == "yours"
    assert Catalogue().find("datasets", "etude") is etude.ETUDE
