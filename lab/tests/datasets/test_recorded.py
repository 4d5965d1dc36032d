"""Loaders of recorded data, on tiny made-up files in the folder that `TABPE_DATA` names."""

import numpy as np
import pytest

from tabpe.encoding import Encoder
from tabpe.errors import DataError, ParameterError
from tabpe_lab.datasets import load, recorded

ADULT = (
    "39,{workclass},77516,Bachelors,13,Divorced,Sales,Wife,White,Male,0,0,40,Cuba,{income},{split}"
)


def fits(data):
    for part in (data.train, data.validation, data.test):
        assert tuple(part.column_names) == data.schema.names
        Encoder(data.schema).encode(part)
    return data.train.num_rows, data.validation.num_rows, data.test.num_rows


def test_adult_leaves_out_test_rows_that_lack_an_answer(put):
    rows = [
        [ADULT.format(workclass=workclass, income=income, split=split)]
        for workclass, split in (("Private", "train"), ("?", "train"), ("?", "test"))
        for income in ("<=50K", ">50K")
        for _ in range(10)
    ]
    put("adult.csv.gz", ",".join(recorded.ADULT_COLUMNS), rows)
    data = load("adult")
    assert fits(data) == (28, 6, 6)
    assert data.train.to_pylist() != load("adult", split_seed=0).train.to_pylist()
    assert data.split == "70/15/15, stratified, seed 42, as the paper's authors cut it"
    assert load("adult", split_seed=1).split == "70/15/15, stratified, seed 1"


def test_artificial_characters_keep_the_parts_of_the_authors_until_a_seed_is_given(put):
    header = "V1,V2,V3,V4,V5,V6,V7,Class"
    rows = [[3, 1, 18, 17, -2, "16.0", "24.76", label] for label in (1, 10) for _ in range(10)]
    for part, take in (("train", rows), ("val", rows[:4]), ("test", rows[:6])):
        put(f"artificial_characters_{part}.csv.gz", header, take)
    assert fits(load("artificial-characters")) == (20, 4, 6)
    assert load("artificial-characters").split.startswith("the files of the paper's authors")
    assert fits(load("artificial-characters", split_seed=0)) == (21, 4, 5)


def test_person_activity_pools_what_there_is(put):
    rows = [
        [1, 4, 3, 3, 2, 3, 164482, label, part] for label in (1, 11) for part in ("val", "test")
    ]
    put("person_activity_49k.csv.gz", "V1,V2,V3,V4,V5,V6,V7,Class,split", rows * 10)
    assert fits(load("person-activity")) == (28, 6, 6)


def test_the_whole_of_person_activity_has_the_parts_of_the_authors(put):
    parts = ["train"] * 10 + ["val"] * 4 + ["test"] * 6
    rows = [[1, 4, 3, 3, 2, 3, 164482, 1 + n % 2, part] for n, part in enumerate(parts)]
    put("person_activity.csv.gz", "V1,V2,V3,V4,V5,V6,V7,Class,split", rows)
    data = load("person-activity-whole")
    assert fits(data) == (10, 4, 6)
    assert data.split == "the files of the paper's authors"
    assert fits(load("person-activity-whole", split_seed=0)) == (14, 3, 3)


@pytest.mark.parametrize("prior", ["tree", "nn", "rff"])
def test_the_models_of_the_authors_have_their_parts(put, prior):
    parts = ["train"] * 10 + ["val"] * 4 + ["test"] * 6
    rows = [[*([0.25] * 8), n % 2, part] for n, part in enumerate(parts)]
    put(f"scm_{prior}_authors.csv.gz", "x0,x1,x2,x3,x4,x5,x6,x7,y,split", rows)
    assert fits(load(f"scm-{prior}-authors")) == (10, 4, 6)


def test_the_stress_test_of_the_authors_has_one_to_seven_features(put):
    parts = ["train"] * 10 + ["val"] * 4 + ["test"] * 6
    rows = [[0.5, -1.5, n % 2, part] for n, part in enumerate(parts)]
    put("xor_2_authors.csv.gz", "num_feat_0,num_feat_1,target,split", rows)
    assert fits(load("xor-authors", features=2)) == (10, 4, 6)
    with pytest.raises(ParameterError, match="features=8: the authors published 1 to 7"):
        load("xor-authors", features=8)


def test_a_file_of_the_authors_without_one_of_its_parts_is_refused(put):
    rows = [[0.5, -1.5, n % 2, "train"] for n in range(20)]
    put("xor_2_authors.csv.gz", "num_feat_0,num_feat_1,target,split", rows)
    with pytest.raises(DataError, match="no row has val or test in its column split"):
        load("xor-authors", features=2)


def test_without_a_network_the_error_says_where_to_put_which_file(folder):
    with pytest.raises(DataError) as raised:
        load("person-activity-whole")
    said = str(raised.value)
    assert "person_activity.csv.gz: not in" in said
    assert "can not be downloaded" in said
    assert "then set TABPE_DATA to its folder" in said


@pytest.mark.parametrize(("charges", "word"), [("20000", "low"), ("20000.01", "high")])
def test_charges_above_the_cut_are_high(put, charges, word):
    rows = [[30, "male", "25.365", 2, "no", "southeast", each] for each in (charges, 1, 50_000)]
    put("insurance.csv.gz", "age,sex,bmi,children,smoker,region,charges", rows * 10)
    data = load("insurance")
    assert fits(data) == (21, 4, 5)
    assert data.shares[word] > 0.5


def test_each_problem_of_the_monks_has_its_rows_and_one_stands_for_all(put):
    rows = [
        [problem, split, 1, problem, 1, 1, 4, 2, label]
        for problem in (1, 2, 3)
        for split in ("train", "test")
        for label in (0, 1)
        for _ in range(5)
    ]
    put("monks.csv.gz", ",".join(recorded.MONKS_COLUMNS), rows)
    for problem in (1, 2, 3):
        data = load(f"monk-{problem}")
        assert fits(data) == (14, 3, 3)
        assert set(data.train["a2"].to_pylist()) == {problem}
    assert load("monk").train.equals(load("monk-2").train)


def test_walking_activity_and_bank_are_read(put):
    rows = [["0.5", "-19.572", "1.5", "9.81", person] for person in (1, 22) for _ in range(10)]
    put("walking_activity.csv.gz", "time,x,y,z,person", rows)
    assert fits(load("walking-activity")) == (14, 3, 3)
    header = "age,job,marital,education,default,balance,housing,loan,contact,day,month,duration,"
    header += "campaign,pdays,previous,poutcome,y"
    client = "58,student,single,unknown,no,-5,yes,no,unknown,5,may,261,1,-1,0,unknown,{}"
    put("bank.csv.gz", header, [[client.format(y)] for y in ("no", "yes") for _ in range(10)])
    assert fits(load("bank")) == (14, 3, 3)


def test_images_become_columns_and_validation_is_cut_from_training(folder):
    pixels = np.arange(100 * 196, dtype=np.uint64).reshape(100, 14, 14).astype(np.uint8)
    digits = np.arange(100, dtype=np.uint8) % 10
    arrays = (pixels, digits, pixels[:30], digits[:30])
    np.savez(folder / "mnist14.npz", **dict(zip(recorded.ARRAYS, arrays, strict=True)))
    data = load("mnist")
    assert fits(data) == (80, 20, 30)
    assert data.train.num_columns == 197
    assert data.test["pixel_17"][2].as_py() == pixels[2, 1, 3]
    assert data.test["digit"].to_pylist() == digits[:30].tolist()
    assert fits(load("mnist", split_seed=0)) == (91, 19, 20)


@pytest.mark.parametrize("content", [b"no archive", b"", b"PK\x03\x04", b"\x93NUMPY"])
def test_arrays_that_are_none_are_refused(folder, content):
    (folder / "mnist14.npz").write_bytes(content)
    with pytest.raises(DataError, match="X_train"):
        load("mnist")


@pytest.mark.parametrize("array", [np.array([{}], dtype=object), np.zeros((5, 28, 28))])
def test_pickled_arrays_and_those_of_another_shape_are_refused(folder, array):
    np.savez(folder / "mnist14.npz", **dict.fromkeys(recorded.ARRAYS, array))
    with pytest.raises(DataError, match="expected the arrays"):
        load("mnist")


def test_breast_cancer_needs_no_file(folder):
    data = load("breast-cancer")
    assert fits(data) == (398, 85, 86)
    assert data.train.slice(0, 1).to_pylist()[0]["radius_mean"] == 20.18
    bounds = data.schema["radius_mean"]
    assert (bounds.min, bounds.max) == (6.981, 28.11)
