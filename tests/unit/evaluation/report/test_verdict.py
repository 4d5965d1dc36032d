"""Grades follow the rules that the cards state."""

import dataclasses

import pytest

import contents as made
from certificates import DRAFTED, honest
from tabpe.evaluation.metrics.columns import ColumnComparison, ColumnShape
from tabpe.evaluation.metrics.dependence import PairDependence
from tabpe.evaluation.metrics.embedding import RepresentationScores
from tabpe.evaluation.metrics.sdmetrics import ColumnScore, QualityScores
from tabpe.evaluation.metrics.utility import (
    GroupScore,
    LabelCertainty,
    LearnerScore,
    UtilityScores,
)
from tabpe.evaluation.report.verdict import (
    build_cards,
    find_main_scores,
    list_worst_first,
    rate_columns,
    write_verdict,
)
from tabpe.verification.verify import FAILED, Check


def card(title, contents):
    return next(one for one in build_cards(contents) if one.title == title)


def test_there_is_a_card_for_each_part_and_none_for_what_is_not_there():
    titles = [one.title for one in build_cards(made.custodian())]
    assert all(one.causes == () for one in build_cards(made.custodian()) if one.grade == "good")
    assert titles == ["Guarantee", "Columns", "Pairs", "High order", "Utility", "Closeness"]
    assert [one.title for one in build_cards(made.public())] == ["Guarantee", "Columns", "Utility"]
    assert [one.title for one in build_cards(made.minimal())] == ["Guarantee"]


@pytest.mark.parametrize(("epsilon", "grade"), [(0.5, "good"), (3.0, "fair"), (9.0, "poor")])
def test_a_guarantee_is_graded_by_its_epsilon(epsilon, grade):
    assert card("Guarantee", made.minimal(certificate=honest(epsilon))).grade == grade


def test_private_measures_count_in_the_guarantee():
    measures = dataclasses.replace(made.public().private_measures, total_epsilon=6.0)
    found = card("Guarantee", made.public(private_measures=measures))
    assert (found.figure, found.grade) == ("epsilon 6", "poor")


def test_card_and_verdict_state_the_same_epsilon():
    measures = dataclasses.replace(made.public().private_measures, total_epsilon=1.14321)
    contents = made.public(private_measures=measures)
    assert card("Guarantee", contents).figure == "epsilon 1.144"
    assert "epsilon 1.144 " in write_verdict(contents)


def test_private_measures_with_an_unknown_total_are_named():
    measures = dataclasses.replace(
        made.public().private_measures, total_epsilon=None, total_delta=None
    )
    contents = made.public(private_measures=measures)
    assert card("Guarantee", contents).figure == "epsilon 0.9999"
    assert "come on top" in card("Guarantee", contents).words
    assert "come on top" in write_verdict(contents)
    assert "come on top" not in write_verdict(made.public())


def test_fake_noise_is_never_good():
    contents = made.custodian(certificate=honest(private=False))
    found = card("Guarantee", contents)
    assert (found.figure, found.grade) == ("NOT PRIVATE", "poor")
    assert write_verdict(contents).startswith("NOT PRIVATE")


def test_a_schema_read_off_the_data_is_fair_at_best():
    contents = made.custodian(certificate=honest(schema=DRAFTED))
    assert card("Guarantee", contents).grade == "fair"
    assert "not cover" in write_verdict(contents)


def test_a_schema_of_the_page_that_was_read_off_the_data_counts_too():
    contents = made.public(fields_from_data=("age.min",), private_measures=None, columns=())
    assert card("Guarantee", contents).grade == "fair"
    assert "not cover one field" in write_verdict(contents)


@pytest.mark.parametrize("make", [made.public, made.custodian])
def test_a_certificate_that_does_not_hold_guarantees_nothing(make):
    contents = make(verification=made.verified(Check("epsilon", FAILED, "it is more")))
    found = card("Guarantee", contents)
    assert (found.figure, found.grade) == ("DOES NOT HOLD", "poor")
    assert "it is more" in found.words
    assert "does not hold" in write_verdict(contents)
    assert "sure" not in write_verdict(contents)


def test_without_a_certificate_the_guarantee_is_unknown():
    assert card("Guarantee", made.minimal()).grade == "unknown"


@pytest.mark.parametrize(("score", "grade"), [(0.97, "good"), (0.9, "fair"), (0.5, "poor")])
def test_columns_are_graded_by_their_mean_score(score, grade):
    scores = (
        ColumnScore("age", "KSComplement", score),
        ColumnScore("x", "KSComplement", float("nan")),
    )
    found = card("Columns", made.custodian(quality=QualityScores(scores, ())))
    assert (found.figure, found.grade) == (f"{score:.1%}", grade)
    assert "age" in found.words


@pytest.mark.parametrize(("score", "nulls"), [(float("nan"), 1.0), (0.98, 0.7), (0.98, 0.0)])
def test_columns_that_are_null_where_they_should_not_be_do_not_agree(score, nulls):
    shape = ColumnShape((1.0,), nulls=0.0)
    view = ColumnComparison(
        "age", "number", (0.0, 1.0), (), shape, dataclasses.replace(shape, nulls=nulls), nulls
    )
    quality = QualityScores((ColumnScore("age", "KSComplement", score),), ())
    found = card("Columns", made.custodian(columns=(view,), quality=quality))
    assert found.figure == ("98.0%" if nulls == 0 else f"{1 - nulls:.1%}")
    assert ("agreement of nulls" in found.words) == (nulls > 0)


@pytest.mark.parametrize(("kept", "grade"), [(0.9, "good"), (0.5, "fair"), (0.1, "poor")])
def test_pairs_are_graded_by_the_dependence_that_is_kept(kept, grade):
    found = card("Pairs", made.custodian(pair_dependence=made.pair_dependence(("a", "b"), kept)))
    assert (found.figure, found.grade) == (f"{kept:.0%} kept", grade)
    assert ("pairs lost" in found.causes) == (grade != "good")


def test_without_a_related_pair_there_is_nothing_to_grade():
    found = card("Pairs", made.custodian(pair_dependence=PairDependence((), 10)))
    assert found.grade == "unknown"


def test_a_column_that_depends_on_nothing_any_more_is_named():
    kept = made.pair_dependence(("a", "b", "c")).pairs * 9
    lost = dataclasses.replace(kept[0], columns=("a", "outcome"), distance=0.3)
    found = card("Pairs", made.custodian(pair_dependence=PairDependence((*kept, lost), 30)))
    assert (found.grade, found.causes) == ("fair", ("column detached", "pairs lost"))
    assert "Lost: hardly any dependence of a with outcome is kept." in found.words
    assert "outcome" in found.words


@pytest.mark.parametrize(("strength", "is_alarm"), [(0.3, True), (0.05, False)])
@pytest.mark.parametrize("kept", [(), made.pair_dependence(("a", "b")).pairs])
def test_a_strong_dependence_that_real_rows_lack_is_an_alarm(kept, strength, is_alarm):
    invented = ((("age", "ward"), strength), (("age", "sex"), 0.02))
    found = card("Pairs", made.custodian(pair_dependence=PairDependence(kept, 9, invented)))
    assert ("dependence invented" in found.causes) == is_alarm == (found.grade == "fair")
    assert ("Invented: in synthetic rows age depends on ward" in found.words) == is_alarm


@pytest.mark.parametrize(
    ("kept", "shown", "grade"),
    [(1.3, "100%", "good"), (0.8, "80%", "good"), (0.5, "50%", "fair"), (-0.1, "0%", "poor")],
)
def test_high_order_is_graded_by_the_dependence_that_a_model_finds(kept, shown, grade):
    learned = made.learned_dependence(kept)
    found = card("High order", made.custodian(learned_dependence=learned))
    assert (found.figure, found.grade) == (f"{shown} kept", grade)
    assert ("dependence lost" in found.causes) == (grade != "good")


def test_high_order_of_independent_columns_is_not_graded():
    learned = dataclasses.replace(made.learned_dependence(), real=0.001)
    assert card("High order", made.custodian(learned_dependence=learned)).grade == "unknown"


@pytest.mark.parametrize(("share", "is_alarm"), [(0.95, False), (0.6, True)])
def test_rows_closer_than_real_ones_are_an_alarm(share, is_alarm):
    floor = made.ways(("a", "b", "c"), 0.01, 0.02)
    closer = tuple(dataclasses.replace(way, distance=share * way.distance) for way in floor)
    found = card("High order", made.custodian(wasserstein=closer, wasserstein_floor=floor))
    assert ("closer than real" in found.causes) == is_alarm
    assert (found.grade == "fair") == is_alarm


def test_rows_that_are_missing_are_seen_in_the_coverage():
    floor = RepresentationScores("linear", 5, (9, 9), 0.9, 0.9, 1.0, 0.9)
    for coverage, grade in ((0.85, "good"), (0.6, "fair"), (0.3, "poor")):
        scores = dataclasses.replace(floor, coverage=coverage, floor=floor)
        assert card("Coverage", made.custodian(representation=scores)).grade == grade


def with_bars(shares, real=(0.6, 0.37, 0.03)):
    bars = ("a", "b", "c")
    return ColumnComparison(
        "ward", "category", (), bars, ColumnShape(real, 0.0), ColumnShape(shares, 0.0), 0.03
    )


@pytest.mark.parametrize(
    ("shares", "rows", "is_alarm"),
    [
        ((0.6, 0.4, 0.0), 10_000, True),
        ((0.6, 0.39, 0.01), 10_000, False),
        ((0.6, 0.4, 0.0), 100, False),  # three rows may be missing by chance
    ],
)
def test_a_value_that_no_synthetic_row_has_is_an_alarm(shares, rows, is_alarm):
    contents = made.custodian(
        columns=(with_bars(shares),), quality=None, rows={"real": 9, "synthetic": rows}
    )
    found = card("Columns", contents)
    assert ("values missing" in found.causes) == is_alarm
    assert (found.grade == "fair") == is_alarm


def test_one_wrong_column_is_not_lost_in_the_mean():
    scores = [ColumnScore(f"x{at}", "KSComplement", 1.0) for at in range(19)]
    scores.append(ColumnScore("age", "KSComplement", 0.4))
    found = card("Columns", made.custodian(quality=QualityScores(tuple(scores), ())))
    assert (found.grade, found.causes) == ("fair", ("columns differ",))
    assert "age" in found.words


def test_utility_on_rows_that_were_held_out_says_so():
    held_out = dataclasses.replace(scored(0.85), held_out=True)
    assert "No test rows" in card("Utility", made.custodian(utility=held_out)).words
    assert "No test rows" not in card("Utility", made.custodian(utility=scored(0.85))).words


def scored(synthetic, real=0.9, lower=0.5):
    return UtilityScores(
        "ill",
        "classification",
        9,
        False,
        (
            LearnerScore("majority", "nothing", {"accuracy": lower}),
            LearnerScore("trees", "real", {"accuracy": real}),
            LearnerScore("trees", "synthetic", {"accuracy": synthetic}),
        ),
    )


@pytest.mark.parametrize(
    ("synthetic", "grade"),
    [(0.92, "good"), (0.88, "good"), (0.8, "fair"), (0.6, "poor"), (0.4, "poor")],
)
def test_utility_is_the_share_of_the_way_from_nothing_to_real(synthetic, grade):
    assert card("Utility", made.custodian(utility=scored(synthetic))).grade == grade


@pytest.mark.parametrize(("way", "shown", "grade"), [(0.596, "60", "fair"), (0.594, "59", "poor")])
def test_a_figure_is_graded_as_it_is_shown(way, shown, grade):
    found = card("Utility", made.custodian(utility=scored(0.5 + 0.4 * way)))
    assert (found.figure, found.grade) == (f"{shown}% of real", grade)


def certain(confidence, accuracy):
    return LabelCertainty(0.5, 0.3, 0.1, confidence, accuracy, 0.1)


@pytest.mark.parametrize(
    ("synthetic", "margin", "is_alarm"), [(1.0, 0.01, True), (0.92, 0.01, False), (1.0, 0.2, False)]
)
def test_better_than_real_is_an_alarm_beyond_its_noise(synthetic, margin, is_alarm):
    scores = scored(synthetic)
    last = dataclasses.replace(scores.scores[-1], margins={"accuracy": margin})
    scores = dataclasses.replace(scores, scores=(*scores.scores[:-1], last))
    found = card("Utility", made.custodian(utility=scores))
    assert ("better than real" in found.causes) == is_alarm
    assert found.grade == ("fair" if is_alarm else "good")


@pytest.mark.parametrize(("confidence", "is_alarm"), [(0.85, False), (0.97, True)])
def test_labels_that_are_too_certain_are_an_alarm(confidence, is_alarm):
    scores = scored(0.86)
    nothing, real, made_of = scores.scores
    real = dataclasses.replace(real, certainty=certain(0.88, 0.86))
    made_of = dataclasses.replace(made_of, certainty=certain(confidence, 0.82))
    scores = dataclasses.replace(scores, scores=(nothing, real, made_of))
    found = card("Utility", made.custodian(utility=scores))
    assert ("labels too certain" in found.causes) == is_alarm


def test_where_real_rows_teach_nothing_there_is_no_grade():
    assert card("Utility", made.custodian(utility=scored(0.5, real=0.5))).grade == "unknown"


def test_the_learner_that_is_best_on_real_rows_counts():
    assert find_main_scores(made.utility("outcome"))[:2] == ("gradient boosting", "AUC")
    assert find_main_scores(UtilityScores("ill", "classification", 9, False, ())) is None


def test_private_accuracy_that_is_not_surely_above_the_majority_is_poor():
    measures = dataclasses.replace(
        made.public().private_measures, accuracy=(0.62, 0.02), majority=0.61
    )
    assert card("Utility", made.public(private_measures=measures)).grade == "poor"


@pytest.mark.parametrize(
    ("known", "values", "is_alarm"), [(90, 10, True), (90, 40, False), (12, 2, False)]
)
def test_numbers_with_far_fewer_values_are_an_alarm(known, values, is_alarm):
    shape = ColumnShape((1.0,), 0.0, values=known)
    view = ColumnComparison(
        "age", "number", (0.0, 1.0), (), shape, dataclasses.replace(shape, values=values), 0.0
    )
    found = card("Columns", made.custodian(columns=(view,), quality=None))
    assert ("values coarser" in found.causes) == is_alarm == (found.grade == "fair")
    assert (f"{values} different values of age" in found.words) == is_alarm


@pytest.mark.parametrize(
    ("loss", "error", "is_alarm"), [(0.3, 0.02, True), (0.3, 0.08, False), (0.08, 0.01, False)]
)
def test_a_group_that_loses_more_than_all_is_an_alarm(loss, error, is_alarm):
    utility = made.custodian().utility
    group = GroupScore("ward", "eye", 99, 0.9, 0.9 - loss, error)
    scores = [
        dataclasses.replace(one, worst_group=group) if one.trained_on == "synthetic" else one
        for one in utility.scores
    ]
    changed = dataclasses.replace(utility, scores=tuple(scores))
    assert ("group lost" in card("Utility", made.custodian(utility=changed)).causes) == is_alarm


@pytest.mark.parametrize(("copies", "grade"), [(0.0, "good"), (0.04, "fair"), (0.3, "poor")])
def test_copies_are_held_against_those_of_other_real_rows(copies, grade):
    close = dataclasses.replace(made.closeness(), copies=copies)
    found = card("Closeness", made.custodian(closeness=close))
    assert found.grade == grade
    assert "no proof of privacy" in found.words


@pytest.mark.parametrize(
    ("nearer", "grade"), [(0.5, "good"), (0.59, "good"), (0.65, "fair"), (0.95, "poor")]
)
@pytest.mark.parametrize("control", ["nearer_than_other", "nearer_than_synthetic"])
def test_near_copies_are_an_alarm(control, nearer, grade):
    close = dataclasses.replace(made.closeness(), **{control: nearer})
    found = card("Closeness", made.custodian(closeness=close))
    assert found.grade == grade
    assert ("near copies" in found.causes) == (grade != "good")


@pytest.mark.parametrize(("closest", "is_alarm"), [(0.7, False), (0.9, True)])
def test_a_few_near_copies_are_an_alarm(closest, is_alarm):
    close = dataclasses.replace(made.closeness(), closest_nearer=closest)
    found = card("Closeness", made.custodian(closeness=close))
    assert ("near copies" in found.causes) == is_alarm == (found.grade == "fair")


@pytest.mark.parametrize(("repeats", "is_alarm"), [(0.2, False), (1.0, True)])
def test_rows_that_repeat_are_an_alarm(repeats, is_alarm):
    close = dataclasses.replace(made.closeness(), repeats=repeats, other_repeats=0.1)
    found = card("Closeness", made.custodian(closeness=close))
    assert ("rows repeated" in found.causes) == is_alarm == (found.grade == "fair")


def test_the_verdict_names_what_is_poor():
    close = dataclasses.replace(made.closeness(), copies=0.3)
    verdict = write_verdict(made.custodian(closeness=close))
    assert verdict.endswith("high order and utility; poor in closeness.")
    assert "No measure was taken" in write_verdict(made.minimal())


def test_columns_are_ordered_by_what_the_card_grades():
    contents = made.custodian()
    rated = rate_columns(contents)
    worst = list_worst_first(contents)[0].name
    assert rated[worst] == min(rated.values())
    assert repr(worst)[1:-1] in card("Columns", contents).words


def test_a_column_of_a_public_page_is_rated_as_sdmetrics_does_from_its_shares():
    real, synthetic = ColumnShape((0.5, 0.3, 0.2), 0.0), ColumnShape((0.3, 0.5, 0.2), 0.0)
    edges = (0.0, 1.0, 2.0, 3.0)
    number = ColumnComparison("age", "number", edges, (), real, synthetic, 0.2, band=0.01)
    category = ColumnComparison(
        "ward", "category", (), ("a", "b", "c"), real, synthetic, 0.2, band=0.01
    )
    empty = dataclasses.replace(
        number, name="bmi", synthetic=dataclasses.replace(synthetic, nulls=0.4)
    )
    contents = made.public(columns=(number, category, empty))
    assert rate_columns(contents) == pytest.approx({"age": 0.8, "ward": 0.8, "bmi": 0.6})
    assert [view.name for view in list_worst_first(contents)] == ["bmi", "age", "ward"]
