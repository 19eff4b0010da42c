"""What can be named: seqkit's own, and the user's; each fault with its name."""

import pytest

from seqkit.data import etude
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError
from tests.conftest import Write

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


def test_of_several_with_one_name_the_first_counts(write: Write) -> None:
    write("mine.py", DATASETS + "DATASETS['etude'] = Squares()")
    write("yours.py", DATASETS)
    found = Catalogue(["yours", "mine"]).find("datasets", "squares")
    assert type(found).__module__ == "yours"
    assert Catalogue(["mine"]).find("datasets", "etude") is etude.ETUDE
