"""What others publish becomes the files that loaders read: tried on tiny made-up archives."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from tabpe_lab.datasets import recorded
from tabpe_lab.datasets.simulated import draw_xor_table


def archived(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def lines(converted):
    assert gzip.decompress(converted.file) == converted.content
    return converted.content.decode().splitlines()


def test_adult_is_joined_and_loses_blanks_full_stops_and_the_line_that_is_no_row():
    row = "39, State-gov, 77516, Bachelors, 13, Single, Clerk, None, White, Male, 2174, 0, 40, ?, "
    archive = archived(
        {
            "adult.data": f"{row}<=50K\n\n".encode(),
            "adult.test": f"|1x3 Cross validator\n{row}>50K.\n\n".encode(),
        }
    )
    header, train, test = lines(recorded.parse_adult([archive]))
    assert header.startswith("age,workclass,")
    assert train.startswith("39,State-gov,77516,Bachelors,13,Single,Clerk,None,White,Male,2174,")
    assert train.endswith("?,<=50K,train")
    assert test.endswith("?,>50K,test")


def test_insurance_has_decimals_in_one_form():
    table = b"age,bmi,smoker,charges\r\n19,28,yes,16884.924\r\n33,22.705,no,4000"
    found = lines(recorded.parse_insurance([table]))
    assert found == ["age,bmi,smoker,charges", "19,28.0,yes,16884.924", "33,22.705,no,4000.0"]


def test_bank_is_taken_out_of_an_archive_in_an_archive():
    table = '"age";"job";"y"\n58;"management";"no"\n'
    inner = archived({"bank.csv": b"other", "bank-full.csv": table.encode()})
    archive = archived({"bank.zip": inner, "bank-additional.zip": b"other"})
    assert lines(recorded.parse_bank([archive])) == ["age,job,y", "58,management,no"]


def test_monks_are_joined():
    archive = archived(
        {
            f"monks-{problem}.{split}": f" {problem % 2} 1 1 1 1 3 1 data_5\n".encode()
            for problem in (1, 2, 3)
            for split in ("train", "test")
        }
    )
    found = lines(recorded.parse_monks([archive]))
    assert found[0] == "problem,split,a1,a2,a3,a4,a5,a6,class"
    assert found[1] == "1,train,1,1,1,1,3,1,1"
    assert found[-1] == "3,test,1,1,1,1,3,1,1"
    assert len(found) == 7


def test_walks_are_joined_whatever_folder_they_are_in():
    archive = archived({f"Walks/{person}.csv": b"0,0.5,-1.25,9\n" for person in range(1, 23)})
    found = lines(recorded.parse_walking([archive]))
    assert found[:2] == ["time,x,y,z,person", "0.0,0.5,-1.25,9.0,1"]
    assert found[-1].endswith(",22")
    assert len(found) == 23


def test_person_activity_is_joined():
    parts = [b"V1,Class\n1,3\n", b"V1,Class\n2,4\n5,6\n"]
    found = lines(recorded.parse_person_activity(parts))
    assert found == ["V1,Class,split", "1,3,val", "2,4,test", "5,6,test"]


def test_images_are_halved_and_rounded_to_even():
    image = np.zeros((28, 28), dtype=np.uint8)
    image[:2, :2] = [[255, 255], [255, 254]]  # 254.75
    image[:2, 2:4] = [[1, 1], [0, 0]]  # 0.5
    image[26:, 26:] = [[3, 3], [0, 0]]  # 1.5
    packed = [gzip.compress(bytes(16) + image.tobytes()), gzip.compress(bytes(8) + b"\x07")]
    converted = recorded.parse_mnist(packed * 2)
    with np.load(io.BytesIO(converted.file), allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in recorded.ARRAYS}
    assert found["X_train"].shape == (1, 14, 14)
    assert found["X_train"][0, [0, 0, 13], [0, 1, 13]].tolist() == [255, 0, 2]
    assert found["y_test"].tolist() == [7]
    assert converted.content == b"".join(array.tobytes() for array in found.values())


def test_what_unfolds_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(recorded, "_MOST_UNPACKED", 1000)
    with pytest.raises(ValueError, match="too much"):
        recorded.parse_bank([archived({"bank.zip": bytes(1001)})])
    with pytest.raises(ValueError, match="too much"):
        recorded.parse_mnist([gzip.compress(bytes(1001))] * 4)


def test_the_same_parts_give_the_same_file():
    parts = [b"V1,Class\n1,3\n", b"V1,Class\n2,4\n"]
    assert recorded.parse_person_activity(parts) == recorded.parse_person_activity(parts)


def write_csv(table):
    rows = table.to_pylist()
    return "\n".join([",".join(rows[0]), *(",".join(map(repr, r.values())) for r in rows)]).encode()


def test_three_parts_are_joined():
    parts = [b"a,y\n1,0\n", b"a,y\n2,1\n", b"a,y\n3,0\n"]
    assert lines(recorded.parse_splits(parts)) == ["a,y,split", "1,0,train", "2,1,val", "3,0,test"]
    with pytest.raises(ValueError, match="other columns"):
        recorded.parse_splits([*parts[:2], b"b,y\n3,0\n"])


def test_parts_of_xor_must_be_the_known_rows():
    table = draw_xor_table(2, 40).take(np.random.default_rng(0).permutation(40))
    parts = [write_csv(table.slice(*place)) for place in ((0, 28), (28, 6), (34, 6))]
    found = lines(recorded.parse_xor_splits(parts))
    assert len(found) == 41
    assert found[0] == "num_feat_0,num_feat_1,target,split"
    last = parts[2].decode().splitlines()
    flipped = last[-1][:-1] + str(1 - int(last[-1][-1]))
    with pytest.raises(ValueError, match="other rows than those"):
        recorded.parse_xor_splits([*parts[:2], "\n".join([*last[:-1], flipped]).encode()])
