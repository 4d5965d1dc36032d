"""Where files are looked for, and what is said when they are nowhere."""

import gzip
import hashlib
import io

import pytest

from tabpe.errors import DataError
from tabpe.schema import Categorical, Float, Integer, Schema
from tabpe_lab.datasets import download, load, recorded
from tabpe_lab.datasets import download as files
from tabpe_lab.datasets.download import DataFile, RemoteFile, read_columns
from tabpe_lab.datasets.recorded import normalize_newlines

CONTENT = b"n,word\n1,one\n"
SCHEMA = Schema((Integer("n", 0, 9), Categorical("word", ("one", "two"))))
FILE = DataFile(
    "words.csv.gz",
    RemoteFile(
        ("https://data.example/words.csv",), normalize_newlines, hashlib.sha256(CONTENT).hexdigest()
    ),
)


def put(folder, content=CONTENT):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE.name).write_bytes(gzip.compress(content))


def test_the_given_folder_comes_before_the_shared_one_before_the_cache(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(files, "_SHARED", files.Path("shared", "data"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    places = [tmp_path / "home" / "tabpe" / "datasets", tmp_path / "shared" / "data", folder]
    monkeypatch.setattr(files, "_cache", lambda: places[0])
    assert FILE.find_local() is None
    for place in places:
        put(place)
        assert FILE.find_or_download() == place / FILE.name


def test_a_checkout_finds_data_beside_itself_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = list(files._list_folders())
    checkout = files.Path(files.__file__).resolve().parents[4]
    installed = not (checkout / "pyproject.toml").is_file()
    assert installed or checkout.parent / "shared" / "data" in folders


def test_without_the_variable_the_other_places_are_looked_at(folder, monkeypatch):
    monkeypatch.delenv("TABPE_DATA")
    assert folder not in files._list_folders()
    monkeypatch.setenv("TABPE_DATA", "")
    assert folder not in files._list_folders()


def test_a_file_that_is_nowhere_is_downloaded_once_into_the_cache(folder, monkeypatch):
    asked = []

    def opened(url):
        asked.append(url)
        return io.BytesIO(CONTENT)

    monkeypatch.setattr(download, "opened", opened)
    path = FILE.find_or_download()
    assert path.parent == files._cache()
    assert FILE.find_or_download() == path
    assert asked == ["https://data.example/words.csv"]
    assert read_columns(FILE, SCHEMA).to_pylist() == [{"n": 1, "word": "one"}]


def test_without_a_network_the_error_says_where_it_looked_and_what_to_do(folder):
    with pytest.raises(DataError) as raised:
        load("bank")
    message = str(raised.value)
    assert message.startswith("bank.csv.gz: not in ")
    for part in (str(folder), str(files._cache()), "no network", "TABPE_DATA", "data-sets.md"):
        assert part in message
    assert recorded.BANK.remote.urls[0] in message
    assert raised.value.__cause__ is None


def test_a_cache_that_can_not_be_written_is_named(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "opened", lambda url: io.BytesIO(CONTENT))
    (tmp_path / "home").write_text("a file, where a folder should be")
    with pytest.raises(DataError, match="folder"):
        FILE.find_or_download()


def test_another_file_of_that_name_is_refused_without_its_cells(folder):
    put(folder, b"n,other\n1,secret\n")
    with pytest.raises(DataError, match="'word'"):
        read_columns(FILE, SCHEMA)
    put(folder, b"n,word\nsecret,one\n")
    with pytest.raises(DataError, match="'n'") as raised:
        read_columns(FILE, SCHEMA)
    assert "secret" not in f"{raised.value}{raised.value.__context__}"


def test_cells_have_the_types_of_the_schema(folder):
    put(folder, b"n,code,share,word,left\n3,7,0.5,one,out\n")
    columns = (Integer("n", 0, 9), Categorical("code", (7, 8)), Float("share", 0, 1))
    table = read_columns(FILE, Schema((*columns, Categorical("word", ("one", "two")))))
    assert [str(kind) for kind in table.schema.types] == ["int64", "int64", "double", "string"]


def test_every_file_comes_from_a_public_source_over_https():
    found = [each for each in vars(recorded).values() if isinstance(each, DataFile)]
    found += recorded.CHARACTERS
    found += recorded.AUTHORS_SCM.values()
    found += map(recorded.make_xor_file, range(1, 8))
    assert len({file.name for file in found}) == len(found) == 21
    for file in found:
        remote = file.remote
        assert all(url.startswith("https://") for url in remote.urls)
        if remote.sha256 is not None:
            assert len(remote.sha256) == 64
        elif remote.convert is not recorded.parse_xor_splits:  # which knows its rows
            assert len(remote.sizes) == len(remote.urls) == 3


def test_no_part_is_larger_than_may_come():
    for file in (recorded.PERSON_ACTIVITY_WHOLE, *recorded.AUTHORS_SCM.values()):
        assert max(file.remote.sizes) <= file.remote.most
