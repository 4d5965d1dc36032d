"""Predictors, behind one name each.

Networks that were trained beforehand, if they are installed and their weights are on the disk.

Nothing here goes to the network. `docs/how-to/learners.md` says how to get the weights.

Three are always there: `gradient boosting`, `extra trees` and `nearest neighbours`. Two are
networks that were trained beforehand, and their weights must be on the disk: `make_tabicl` and
`make_tabpfn`. Nothing is downloaded while a table is measured; `docs/how-to/learners.md` says how
to get them.

A fit of the first three takes one thread, so that nothing that comes out depends on how many there
are; `run_together` makes several fits at once.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabpe._utils.resources import count_usable_cores
from tabpe._utils.validation import check_one_of
from tabpe.errors import ParameterError
from tabpe.evaluation.table_arrays import (
    Cells,
    LabeledExamples,
    encode_features,
    encode_filled_features,
    encode_for_distances,
    is_listed,
)

FOLDER = "TABPE_WEIGHTS"
TABICL = {
    False: "tabicl-classifier-v2-20260212.ckpt",
    True: "tabicl-regressor-v2-20260212.ckpt",
}
TABPFN = Path("models_diff", "prior_diff_real_checkpoint_n_0_epoch_42.cpkt")
BEYOND = {"tabpfn": (0, 2), "torch": (2, 6), "scikit-learn": (1, 8)}
_HOW = "docs/how-to/learners.md says how to get it"


def explain_missing_tabicl(*, regression: bool) -> str | None:
    """Return what must be done before TabICL can be used; None if nothing."""
    if importlib.util.find_spec("tabicl") is None:
        return f"the package tabicl is not installed: {_HOW}."
    name = TABICL[regression]
    if _find_tabicl_weights(name) is None:
        return f"{name} is neither in ${FOLDER} nor in the cache of Hugging Face: {_HOW}."
    return None


def make_tabicl(random_state: int | None, *, regression: bool) -> Any:
    """Return TabICL, with the weights of this machine."""
    from tabicl import TabICLClassifier, TabICLRegressor

    kind = TabICLRegressor if regression else TabICLClassifier
    path = _find_tabicl_weights(TABICL[regression])
    return kind(model_path=path, allow_auto_download=False, random_state=random_state)


def _find_tabicl_weights(name: str) -> Path | None:
    given = _find_given_file(Path(name))
    if given is not None:
        return given
    hub = importlib.import_module("huggingface_hub")
    found = hub.try_to_load_from_cache("jingang/TabICL", name)
    return Path(found) if isinstance(found, str) else None


def explain_missing_tabpfn() -> str | None:
    """Return what must be done before TabPFN can be used; None if nothing."""
    if importlib.util.find_spec("tabpfn") is None:
        return f"the package tabpfn is not installed: {_HOW}."
    for name, (major, minor) in BEYOND.items():
        if _read_version(name) >= (major, minor):
            return f"it does not work with this version of {name}: {_HOW}."
    if _find_tabpfn_folder() is None:
        return f"{TABPFN.name} is neither in ${FOLDER} nor with the package: {_HOW}."
    return None


def _read_version(name: str) -> tuple[int, ...]:
    from importlib import metadata

    return tuple(int(part) for part in metadata.version(name).split(".")[:2])


def make_tabpfn(random_state: int | None) -> Any:
    """Return TabPFN, version 1, with the weights of this machine."""
    from tabpfn import TabPFNClassifier

    return TabPFNClassifier(device="cpu", base_path=_find_tabpfn_folder(), seed=random_state or 0)


def _find_tabpfn_folder() -> Path | None:
    if _find_given_file(TABPFN) is not None:
        return Path(os.environ[FOLDER])
    spec = importlib.util.find_spec("tabpfn")
    home = Path(spec.origin).parent if spec is not None and spec.origin else None
    return home if home is not None and (home / TABPFN).is_file() else None


def _find_given_file(name: Path) -> Path | None:
    """Return a file of the folder that the user names, if it is there."""
    folder = os.environ.get(FOLDER)
    path = Path(folder, name) if folder else None
    return path if path is not None and path.is_file() else None


T = TypeVar("T")
Model = Any
Make = Callable[[LabeledExamples, int | None], Model]
Encode = Callable[[Sequence[Cells]], NDArray[Any]]
MOST_TREES = 1500
# Without a penalty the steps for rare classes are so large that dozens of classes are never
# learned; XGBoost has this one too. Stopping early sets rows aside: a class may have but one.
STEADY = {"l2_regularization": 1.0, "early_stopping": False}
NEIGHBOURS = 5
_ALONE = Lock()  # networks draw from a generator that all threads share


@dataclass(frozen=True)
class LearnerSpec:
    """A predictor.

    Args:
        encode: Makes an array of the features of each row.
        classifier: Makes a model that predicts classes, for examples and a seed.
        regressor: The same for numbers; None if there is none.
        explain_missing: Says what must be done before it can be used; None if nothing.
        most_rows: Rows that it is trained on at most.
        most_features: Features that it can see at most.
        most_classes: Classes that it can tell apart at most.
        threads: How many it takes; None for as many as it likes while no other of its kind runs.
    """

    encode: Encode
    classifier: Make
    regressor: Make | None = None
    explain_missing: Callable[[LabeledExamples], str | None] = lambda _: None
    most_rows: int | None = None
    most_features: int | None = None
    most_classes: int | None = None
    threads: int | None = 1


def learner_names() -> tuple[str, ...]:
    """Return the names of all predictors, installed or not.

    Example:
        >>> learner_names()
        ('gradient boosting', 'extra trees', 'nearest neighbours', 'tabicl', 'tabpfn')
    """
    return tuple(_LEARNERS)


def explain_unusable(name: str, train: LabeledExamples) -> str | None:
    """Return why a predictor can not be used here and what to do, or None if it can.

    Raises:
        ParameterError: If there is no predictor of that name.
    """
    learner = _get_learner(name)
    if train.classes is None and learner.regressor is None:
        return f"{name} predicts classes and no numbers: name another learner."
    most = learner.most_features
    if most is not None and len(train.features) > most:
        return f"{name} sees at most {most} features, and there are {len(train.features)}."
    most = learner.most_classes
    if most is not None and train.classes is not None and len(train.present) > most:
        return f"{name} tells at most {most} classes apart, and there are {len(train.present)}."
    return learner.explain_missing(train)


def predict_target(
    name: str, train: LabeledExamples, test: LabeledExamples, *, random_state: int | None = 0
) -> NDArray[np.float64]:
    """Return what a predictor that was trained on some rows says about others.

    Args:
        name: Its name, of `learner_names()`.
        train: At least one row, with at least one feature.
        test: The rows to predict; their targets are not looked at.
        random_state: Seed of all that is random.

    Returns:
        Of a number: one prediction a row. Of classes: a row of probabilities, one for each class
        that `train` may hold.

    Raises:
        ParameterError: If there is no such predictor, or it can not be used.
    """
    reason = explain_unusable(name, train)
    if reason is not None:
        raise ParameterError(f"learner={name!r}: {reason}")
    learner = _get_learner(name)
    train = train.sample_rows(learner.most_rows, np.random.default_rng(random_state))
    make = learner.classifier if train.classes is not None else learner.regressor
    assert make is not None  # noqa: S101  # `lacking` has seen to it
    return fit_and_predict(
        make,
        train,
        test,
        random_state=random_state,
        encode=learner.encode,
        threads=learner.threads,
    )


def fit_and_predict(
    make: Make,
    train: LabeledExamples,
    test: LabeledExamples,
    *,
    random_state: int | None,
    encode: Encode = encode_features,
    threads: int | None = 1,
) -> NDArray[np.float64]:
    """Make a model, fit it and return what it says, as `predict_target` does."""
    from threadpoolctl import threadpool_limits

    seen = [not cells.missing.all() for cells in train.features]
    train, test = train.select_features(seen), test.select_features(seen)
    if not any(seen) or (train.classes is not None and len(train.present) == 1):
        return predict_uninformed(train, len(test))
    model = make(train, random_state)
    with _ALONE if threads is None else threadpool_limits(threads, user_api="openmp"):
        model.fit(encode(train.features), train.target)
        if train.classes is None:
            return np.asarray(model.predict(encode(test.features)), dtype=np.float64)
        chances = np.zeros((len(test), train.classes))
        chances[:, model.classes_] = model.predict_proba(encode(test.features))
    return chances


def predict_uninformed(train: LabeledExamples, rows: int) -> NDArray[np.float64]:
    """Return what is said by whoever knows nothing but how the target is distributed."""
    if train.classes is None:
        return np.full(rows, train.target.mean())
    shares = np.bincount(train.target, minlength=train.classes) / len(train)
    return np.tile(shares, (rows, 1))


def run_together(tasks: Iterable[Callable[[], T]], jobs: int | None = None) -> list[T]:
    """Return what each task returns, in their order; `jobs` of them at once, None for all cores."""
    with warnings.catch_warnings(), ThreadPoolExecutor(jobs or count_usable_cores()) as pool:
        # scikit-learn doubts that many classes are classes. The schema says so.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        return list(pool.map(lambda task: task(), tasks))


def make_boosted_trees(train: LabeledExamples, random_state: int | None, **settings: Any) -> Model:
    """Return gradient boosting that splits categories as such, as far as it can."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = (
        HistGradientBoostingRegressor if train.classes is None else HistGradientBoostingClassifier
    )
    listed = [is_listed(cells) for cells in train.features]
    return kind(categorical_features=listed, random_state=random_state, **(STEADY | settings))


def boosting_settings(trees: int) -> dict[str, Any]:
    """Return the settings of gradient boosting that takes so many trees a step, one a class.

    A hundred steps; fewer and larger ones if each of them is a tree for many classes. Each split
    sees half of the features: where only several columns together tell something, all first splits
    look alike, and trees that see all features keep taking the same wrong one.

    Example:
        >>> boosting_settings(2)["max_iter"], boosting_settings(100)["max_iter"]
        (100, 15)
    """
    steps = min(100, max(10, MOST_TREES // trees))
    pace = {"max_iter": steps, "learning_rate": min(0.3, 10 / steps)}
    return STEADY | pace | {"max_leaf_nodes": 63, "max_features": 0.5}


def _make_boosting(train: LabeledExamples, random_state: int | None) -> Model:
    trees = 1 if train.classes is None else len(train.present)
    return make_boosted_trees(train, random_state, **boosting_settings(trees))


def _make_extra_trees(train: LabeledExamples, random_state: int | None) -> Model:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind = ExtraTreesRegressor if train.classes is None else ExtraTreesClassifier
    return kind(100, random_state=random_state, n_jobs=1)


def _make_neighbors(train: LabeledExamples, random_state: int | None) -> Model:  # noqa: ARG001
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    kind = KNeighborsRegressor if train.classes is None else KNeighborsClassifier
    return kind(min(NEIGHBOURS, len(train)), algorithm="brute")


def _get_learner(name: str) -> LearnerSpec:
    return _LEARNERS[check_one_of("learner", name, learner_names())]


_LEARNERS = {
    "gradient boosting": LearnerSpec(encode_features, _make_boosting, _make_boosting),
    "extra trees": LearnerSpec(encode_filled_features, _make_extra_trees, _make_extra_trees),
    "nearest neighbours": LearnerSpec(encode_for_distances, _make_neighbors, _make_neighbors),
    "tabicl": LearnerSpec(
        encode_features,
        lambda _, seed: make_tabicl(seed, regression=False),
        lambda _, seed: make_tabicl(seed, regression=True),
        lambda train: explain_missing_tabicl(regression=train.classes is None),
        threads=None,
    ),
    "tabpfn": LearnerSpec(
        encode_features,
        lambda _, seed: make_tabpfn(seed),
        explain_missing=lambda _: explain_missing_tabpfn(),
        most_rows=1000,
        most_features=100,
        most_classes=10,
        threads=None,
    ),
}
