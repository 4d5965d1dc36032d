"""Downloads: checked, limited, whole or not at all. No test asks the network."""

import gzip
import hashlib
import io
from urllib.error import URLError

import pytest

from tabpe.errors import DataError
from tabpe_lab.datasets import download as module
from tabpe_lab.datasets.download import RemoteFile, compute_git_blob, download_file, opened
from tabpe_lab.datasets.recorded import normalize_newlines

CONTENT = b"a,b\n1,2\n"
URL = "https://data.example/ab.csv"


def remote(**changes):
    known = {
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "convert": normalize_newlines,
        "urls": (URL,),
    }
    return RemoteFile(**{**known, **changes})


def serving(content):
    asked = []

    def opener(url):
        asked.append(url)
        return io.BytesIO(content)

    opener.asked = asked
    return opener


def test_a_file_is_made_with_its_folder(tmp_path):
    opener = serving(CONTENT)
    path = download_file(remote(), tmp_path / "cache" / "deep" / "ab.csv.gz", opener=opener)
    assert gzip.decompress(path.read_bytes()) == CONTENT
    assert opener.asked == [URL]
    assert [file.name for file in path.parent.iterdir()] == ["ab.csv.gz"]


def test_lines_may_end_as_on_windows(tmp_path):
    opener = serving(CONTENT.replace(b"\n", b"\r\n"))
    path = download_file(remote(), tmp_path / "ab.csv.gz", opener=opener)
    assert gzip.decompress(path.read_bytes()) == CONTENT


@pytest.mark.parametrize(
    ("content", "changes", "message"),
    [
        (CONTENT + b"3,4\n", {}, "has changed since"),
        (CONTENT, {"most": 4}, "larger than 4 bytes"),
        (CONTENT, {"convert": lambda parts: parts[1]}, r"not the kind of file .*\(IndexError\)"),
    ],
)
def test_what_is_not_what_it_was_is_refused_and_not_kept(tmp_path, content, changes, message):
    with pytest.raises(DataError, match=message):
        download_file(remote(**changes), tmp_path / "ab.csv.gz", opener=serving(content))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_never_seen_whole_is_checked_by_size_and_by_its_name_in_git(tmp_path):
    blob = compute_git_blob(CONTENT)
    known = remote(sha256=None, sizes=(len(CONTENT),), blobs=(blob,))
    path = download_file(known, tmp_path / "ab.csv.gz", opener=serving(CONTENT))
    assert gzip.decompress(path.read_bytes()) == CONTENT
    path.unlink()
    with pytest.raises(DataError, match=r"12 bytes, expected 8: it has changed"):
        download_file(known, path, opener=serving(CONTENT + b"3,4\n"))
    with pytest.raises(DataError, match="not the content that its authors committed"):
        download_file(known, path, opener=serving(CONTENT.replace(b"1", b"7")))
    assert not path.exists()


@pytest.mark.parametrize("error", [URLError("no route"), TimeoutError("no route")])
def test_without_a_network_the_url_is_named(tmp_path, error):
    def broken(url):
        raise error

    with pytest.raises(DataError, match=r"https://data.example/ab.csv: no route\."):
        download_file(remote(), tmp_path / "ab.csv.gz", opener=broken)


def test_nothing_but_https_is_opened(tmp_path):
    for url in ("http://data.example/x", (tmp_path / "x").as_uri(), "ftp://data.example/x"):
        with pytest.raises(DataError, match="begins with https"):
            opened(url)


def test_https_is_opened_with_a_time_limit(monkeypatch):
    given = {}
    monkeypatch.setattr(
        module.urllib.request, "urlopen", lambda url, timeout: given.update({url: timeout})
    )
    opened(URL)
    assert 0 < given[URL] < 600
