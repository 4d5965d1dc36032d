"""The files of the data sets, with their sources and what is known of their content."""

from __future__ import annotations

from tabpe.datasets import sources
from tabpe.datasets.download import Remote
from tabpe.datasets.files import DataFile

_UCI = "https://archive.ics.uci.edu/static/public"
_AUTHORS = "https://raw.githubusercontent.com/toan-vt/cloud-data-store"
_REAL = f"{_AUTHORS}/acf5b455c4b2c6e1d110869a412aaba24b55c172/tabular/real"
_MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist"

ADULT = DataFile(
    "adult.csv.gz",
    Remote(
        (f"{_UCI}/2/adult.zip",),
        sources.adult,
        "d99d5b2c07ff6c7e09b6e0cefe115f6835d5c7b6efebdb9276238f1243c6369b",
    ),
)
BANK = DataFile(
    "bank.csv.gz",
    Remote(
        (f"{_UCI}/222/bank+marketing.zip",),
        sources.bank,
        "b44507c26634736d4a0619ec2d7c4b6ff56a2c63cbeb5176d3134e7b25e416f0",
    ),
)
INSURANCE = DataFile(
    "insurance.csv.gz",
    Remote(
        (
            "https://raw.githubusercontent.com/stedy/Machine-Learning-with-R-datasets/"
            "9a8371e95098f3048c5540646b9fb96c7571b110/insurance.csv",
        ),
        sources.insurance,
        "bf24b412bee5075f277201c613a5e45f2704a9c28bf9fe7e6638b2c05cb4a014",
    ),
)
MONKS = DataFile(
    "monks.csv.gz",
    Remote(
        (f"{_UCI}/70/monk+s+problems.zip",),
        sources.monks,
        "c80dbe49285617f2dafb2ab444fc729faf74030299555911de1073264cb2b6c4",
    ),
)
WALKING = DataFile(
    "walking_activity.csv.gz",
    Remote(
        (f"{_UCI}/286/user+identification+from+walking+activity.zip",),
        sources.walking,
        "199677655713ed6c59e49187bbce66acb9d3b9756c39d69e8b54b8acac123e70",
    ),
)
PERSON_ACTIVITY = DataFile(
    "person_activity_49k.csv.gz",
    Remote(
        tuple(f"{_REAL}/person-activity/person-activity_{part}.csv" for part in ("val", "test")),
        sources.person_activity,
        "c3d261dc847656396e36bce8a4ab2d1becb68f0981f59fa9dd2f180562c5f933",
    ),
)
MNIST = DataFile(
    "mnist14.npz",
    Remote(
        tuple(
            f"{_MNIST}/{part}-ubyte.gz"
            for part in (
                "train-images-idx3",
                "train-labels-idx1",
                "t10k-images-idx3",
                "t10k-labels-idx1",
            )
        ),
        sources.mnist,
        "4e3d9c1c4393bfc52c6f43e2d9710fd6ed61c8d1026a6a7e6d7c9f23db00b272",
    ),
)


def _characters(part: str, folder: str, sha256: str) -> DataFile:
    url = f"{folder}/artificial-characters_{part}.csv"
    return DataFile(
        f"artificial_characters_{part}.csv.gz", Remote((url,), sources.unchanged, sha256)
    )


CHARACTERS = (
    _characters(
        "train",
        f"{_AUTHORS}/8cea438a9b884344a9fcf568f4240390b70bf719/tabular",
        "074a6b0415eb89ce83456930627240e96172a6e27a25f9e7644a5b57463fcb59",
    ),
    _characters(
        "val",
        f"{_REAL}/artificial-characters",
        "730754022324410debd0c94f449339818dacdcf66d4b918ae829120448cbc560",
    ),
    _characters(
        "test",
        f"{_REAL}/artificial-characters",
        "9ba33b9698a0744e8644e1bfe18c8a8ad02cf4c7edc579436a6e01bf7a84e0c4",
    ),
)
