"""What was found in texts is taken in from elsewhere."""

from seqkit.config import DataConfig
from seqkit.data.text_findings import TextFindings


def test_findings_of_the_version_before_have_no_characters() -> None:
    findings = TextFindings(DataConfig())
    findings.include({"skipped": 2, "marked": [], "one_line": []})
    assert findings.skipped == 2
    assert not findings.unknown
