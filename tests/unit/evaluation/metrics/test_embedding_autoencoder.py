"""The autoencoder learns, gives the same answer again, and leaves torch as it was."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from corner_tables import CORNERS, corner, mixed_table, mixed_views
from tabpe.evaluation.metrics import embedding
from tabpe.evaluation.metrics.embedding import choose_encoder, embed, measure_representation
from tabpe.evaluation.table_arrays import fit_vectorizer

torch = pytest.importorskip("torch", reason="the autoencoder needs torch: pip install tabpe[torch]")


@pytest.fixture
def few_steps(monkeypatch):
    monkeypatch.setattr(embedding, "STEPS", 25)
    monkeypatch.setattr(embedding, "FEWEST_STEPS", 5)


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def points(rows=300, seed=0):
    (view,) = mixed_views(mixed_table(rows, 1, nulls=0.1))
    return embed(view, [view], encoder="autoencoder", random_state=seed)[0]


def test_auto_takes_the_autoencoder():
    assert choose_encoder("auto") == "autoencoder"


@pytest.mark.parametrize("name", CORNERS)
def test_every_corner_gives_a_finite_point_for_each_row(name, few_steps):
    tables = corner(name)
    found = embed(tables[0], tables, encoder="autoencoder")
    assert [len(part) for part in found] == [len(table) for table in tables]
    assert all(np.isfinite(part).all() for part in found)


def test_the_same_seed_gives_the_same_points_and_another_gives_others(few_steps):
    assert np.array_equal(points(seed=3), points(seed=3))
    assert not np.array_equal(points(seed=3), points(seed=4))


def test_the_number_of_threads_does_not_matter(few_steps, threads):
    threads(1)
    one = points(2000)
    threads(4)
    assert np.array_equal(points(2000), one)
    assert torch.get_num_threads() == 4


def test_training_runs_in_one_thread_because_sums_may_round_by_their_number(threads, monkeypatch):
    seen, loss = set(), embedding._loss

    def noted(*args):
        seen.add(torch.get_num_threads())
        return loss(*args)

    threads(2)
    monkeypatch.setattr(embedding, "STEPS", 3)
    monkeypatch.setattr(embedding, "_loss", noted)
    points()
    assert seen == {1}


@pytest.mark.parametrize("encoder", ["autoencoder", "linear"])
def test_the_number_of_threads_of_numpy_does_not_matter(encoder, few_steps):
    views = mixed_views(mixed_table(1500, 1, nulls=0.1), mixed_table(1500, 2))
    found = []
    for count in (1, 2):
        with threadpool_limits(count):
            found.append(measure_representation(*views, encoder=encoder))
    assert found[0] == found[1]


def test_another_default_device_does_not_matter(few_steps):
    plain = points()
    with torch.device("meta"):  # a device that holds no numbers at all
        assert np.array_equal(points(), plain)


def test_nothing_of_torch_is_left_changed(few_steps, threads, monkeypatch):
    threads(3)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    plain = points()
    with torch.inference_mode():
        within = points()
        assert torch.is_inference_mode_enabled()
    torch.set_default_dtype(torch.float64)
    try:
        other_type = points()
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert np.array_equal(plain, within)
    assert np.array_equal(plain, other_type)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == 3
    monkeypatch.setattr(embedding, "_loss", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        points()
    assert torch.get_num_threads() == 3


def test_numpy_is_left_as_it_was(few_steps):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    points()
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_equal_rows_are_equal_points_wherever_they_stand(few_steps):
    (view,) = mixed_views(mixed_table(300, 1))
    order = np.random.default_rng(0).permutation(300)
    here, there = embed(view, [view, view.take(order[:77])], encoder="autoencoder")
    assert np.array_equal(here[order[:77]], there)


def test_training_brings_the_loss_down(monkeypatch):
    losses, loss = [], embedding._loss

    def noted(*args):
        losses.append(loss(*args))
        return losses[-1]

    monkeypatch.setattr(embedding, "_loss", noted)
    monkeypatch.setattr(embedding, "STEPS", 300)
    (view,) = mixed_views(mixed_table(1000, 1))
    coding = fit_vectorizer([view])
    embedding.train_autoencoder(coding, coding(view), 3, np.random.default_rng(0))
    assert losses[-1].item() < losses[0].item() / 4


def test_the_loss_is_squared_error_and_surprise_by_column():
    (view,) = mixed_views(mixed_table(50, 1))
    coding = fit_vectorizer([view])
    nothing = [torch.zeros(size) for size in _shapes(coding.width, 3)]
    loss = embedding._loss(coding, coding(view), nothing).item()
    # The mean of the squares of what has variance 1, twice; and four places equally likely, twice.
    assert loss == pytest.approx((2 * 1 + 2 * np.log(4)) / 4, rel=1e-5)


def _shapes(width, size):
    hidden = embedding.HIDDEN
    layers = [(width, hidden), (hidden, size), (size, hidden), (hidden, width)]
    return [shape for layer in layers for shape in (layer, (layer[1],))]


def test_what_is_kept_is_the_first_half_of_what_was_trained(few_steps, monkeypatch):
    (view,) = mixed_views(mixed_table(50, 1))
    coding = fit_vectorizer([view])
    rows = coding.to_dense(coding(view))
    weights, loss = [], embedding._loss

    def noted(coding, batch, given):
        weights[:] = given
        return loss(coding, batch, given)

    monkeypatch.setattr(embedding, "_loss", noted)
    trained = embedding.train_autoencoder(coding, coding(view), 3, np.random.default_rng(0))
    first, offset, second, shift = (part.detach() for part in weights[:4])
    points = torch.nn.functional.silu(torch.from_numpy(rows) @ first + offset) @ second + shift
    unit = points.std(dim=0, correction=0).mean()
    assert trained(rows) == pytest.approx((points / unit).numpy(), abs=1e-4)


def test_other_real_rows_lie_within_and_columns_torn_apart_do_not(monkeypatch):
    monkeypatch.setattr(embedding, "STEPS", 300)
    real, other = mixed_table(1000, 1), mixed_table(1000, 2)
    rng = np.random.default_rng(0)
    torn = other.set_column(0, "age", other["age"].take(rng.permutation(1000)))
    same, apart = (
        measure_representation(view[0], view[1], encoder="autoencoder")
        for view in (mixed_views(real, other), mixed_views(real, torn))
    )
    assert min(same.precision, same.recall, same.coverage) > 0.85
    assert apart.precision < same.precision - 0.3
    assert apart.coverage < same.coverage - 0.15
