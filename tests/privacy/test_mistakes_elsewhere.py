"""Mistakes with their own test: the leaked fact, and the test that has the check."""

import pytest
import test_contract_cases
import test_distant
import test_door
import test_release_contract
import test_threshold_replay
import test_ways_out

# {leaked fact: test, or mutant of a test, that has the check and its reason}
NAMED = {
    "a linear model memoises scores by the bytes of rows": (
        "all training rows, in the model's pickle",
        test_distant, "scores_memoised_by_row-tuned",
    ),
    "a base rate in the notes of model.json": (
        "the exact share of a class", test_release_contract, "a_note_of_the_base_rate",
    ),
    "a number of the exact records held out": (
        "that number, on the card",
        test_release_contract, "the_exact_number_of_records_held_out",
    ),
    "an overridden _fit_rows keeps a count": (
        "an exact count", test_distant, "a_count_kept_for_the_summary",
    ),
    "a learner replaces a method that sees open records": (
        "all records",
        test_distant, test_distant.test_a_method_that_sees_open_records_is_not_replaced,
    ),
    "len(kernel(np.unique)(codes))": (
        "the number of codes that occur", test_distant, "the_number_of_codes_that_occur",
    ),
    "the type of a kernel's result": (
        "how large a count is", test_distant, "the_type_that_holds_the_largest_count",
    ),
    "the number of a kernel's results": (
        "which classes occur", test_distant, "a_result_for_each_class_that_occurs",
    ),
    "the number of axes of a kernel's result": (
        "whether all records are alike", test_distant, "one_axis_if_all_records_are_alike",
    ),
    "a parameter multiplies the sums, not the announced sensitivity": (
        "more than ε, by that factor",
        test_contract_cases,
        test_contract_cases.test_a_number_that_multiplies_sums_and_no_sensitivity_is_seen_at_its_end,
    ),
    "a choice has half the noise": ("twice ε", test_threshold_replay, "half_the_noise-one_rule"),
    "entries of twice the booked share": (
        "twice ε", test_door, test_door.test_entries_of_twice_the_booked_share_end_the_fit,
    ),
    "a refused NaN is caught by the learner": (
        "whether a sum is NaN",
        test_ways_out, test_ways_out.test_a_refused_answer_that_a_learner_catches_ends_its_fit,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("out", "module", "shown"), NAMED.values(), ids=NAMED)
def test_each_listed_mistake_has_its_own_test(out, module, shown):
    if callable(shown):
        assert getattr(module, shown.__name__) is shown
    else:
        assert [one.id for one in module.MUTANTS if one.id.startswith(shown)]
    assert out
