"""Mutants of counts of groups: sensitivities, noise, the release, its verifier."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "replacing is checked as removing",
        "hierarchy/verify.py",
        find='return 6 if squared and parameters["kind"] == "direct" else 2 * moved',
        replace="return moved",
        breaks="noise for half the sensitivity passes",
        tests=("tests/hierarchy/test_verify_counts.py::test_too_little_noise_is_rejected",),
    ),
    Mutant(
        "scales are taken for twice themselves",
        "hierarchy/verify.py",
        find='return moved / (2 * scale if parameters["noise"] == "gaussian" else scale)',
        replace="return moved / (2 * scale)",
        breaks="noise of half the scale passes",
        tests=("tests/hierarchy/test_verify_counts.py::test_each_path_costs_exactly_epsilon",),
    ),
    Mutant(
        "a chain is checked as one region",
        "hierarchy/verify.py",
        find="costs[level] += counts[level] * _cost(frame, parameters, scale)",
        replace="costs[level] += _cost(frame, parameters, scale)",
        breaks="the published error passes",
        tests=("tests/hierarchy/test_verify_counts.py::test_too_little_noise_is_rejected",),
    ),
    Mutant(
        "a chain is checked along one path",
        "hierarchy/verify.py",
        find=("        return [sum(vectors[: end + 1], Fraction(0)) for end in ends]\n"),
        replace="        del vectors\n",
        breaks="leaves of a chain that inherit pass",
        tests=(
            "tests/hierarchy/test_verify_spending.py::test_leaves_of_a_chain_that_inherit_are_charged_what_they_cost",
        ),
    ),
    Mutant(
        "leaves of a chain inherit",
        "hierarchy/measure.py",
        find='if leaves_inherit and kind == "chain" and',
        replace="if leaves_inherit and not kind and",
        breaks="a person pays for levels below her own that she is not alone on",
        tests=("tests/hierarchy/test_measure.py::test_leaves_of_a_chain_inherit_nothing",),
    ),
    Mutant(
        "values that were not measured pass",
        "hierarchy/verify.py",
        find="bare = int((measured.values.reshape(-1)[silent] != 0).sum())",
        replace="bare = int((measured.values.reshape(-1)[silent] < 0).sum())",
        breaks="true counts in a file of measurements",
        tests=(
            "tests/hierarchy/test_verify_counts.py::test_a_value_where_nothing_was_measured_does_not_pass",
        ),
    ),
    Mutant(
        "counts that nothing measured pass",
        "hierarchy/verify.py",
        find="wrong = silent & ~(inner & (off <= slack))",
        replace="wrong = silent & ~(inner | (off <= slack))",
        breaks="true counts of a region that has no noise of its own",
        tests=(
            "tests/hierarchy/test_verify_counts.py::test_counts_of_a_region_that_was_not_measured_are_those_below_it",
        ),
    ),
    Mutant(
        "a claim needs no measurement",
        "hierarchy/verify.py",
        find="                int(not spent),\n",
        replace="                int(spent < 0),\n",
        breaks="true counts at an epsilon of a millionth",
        tests=(
            "tests/hierarchy/test_verify_counts.py::test_a_record_without_any_measurement_does_not_pass",
        ),
    ),
    Mutant(
        "a record may promise nothing",
        "hierarchy/verify.py",
        find="    if not checks:\n",
        replace="    if checks is None:\n",
        breaks="a table of which no number was checked",
        tests=(
            "tests/hierarchy/test_verify_counts.py::test_a_record_that_promises_nothing_does_not_pass",
        ),
    ),
    Mutant(
        "products of questions wrap around",
        "hierarchy/query.py",
        find="exact = np.int64 if bound < _TOO_LARGE else object",
        replace="exact = np.int64",
        breaks="an answer that is another number",
        tests=(
            "tests/hierarchy/test_query.py::test_large_weights_on_the_most_groups_give_the_answer_or_none",
        ),
    ),
    Mutant(
        "the cheapest path decides",
        "hierarchy/verify.py",
        find="spent = max(_paths(frame, parameters))",
        replace="spent = min(_paths(frame, parameters))",
        breaks="a leaf that spends more than the others passes",
        tests=("tests/hierarchy/test_verify_counts.py::test_too_little_noise_is_rejected",),
    ),
    Mutant(
        "numbers just below zero pass",
        "hierarchy/verify.py",
        find="int((table < 0).sum())",
        replace="int((table < -1).sum())",
        breaks="a constraint dropped",
        tests=("tests/hierarchy/test_verify_counts.py::test_one_wrong_number_is_rejected",),
    ),
    Mutant(
        "sums that exceed pass",
        "hierarchy/verify.py",
        find="off = np.abs(below[inner] - table[inner])",
        replace="off = np.maximum(below[inner] - table[inner], 0)",
        breaks="one direction of each sum is dropped",
        tests=("tests/hierarchy/test_verify_counts.py::test_one_wrong_number_is_rejected",),
    ),
    Mutant(
        "levels that fall short pass",
        "hierarchy/verify.py",
        find="wrong = sum(int(found) != total for found in sums)",
        replace="wrong = sum(int(found) > total for found in sums)",
        breaks="one direction of each level is dropped",
        tests=("tests/hierarchy/test_verify_counts.py::test_one_wrong_number_is_rejected",),
    ),
    Mutant(
        "squares are forgotten",
        "hierarchy/verify.py",
        find="return most**2 if squared else most",
        replace="return most",
        breaks="Gaussian noise on sorted sizes is checked by the wrong norm",
        tests=(
            "tests/hierarchy/test_verify_counts.py::test_the_squares_of_sorted_sizes_are_those_of_the_quantity",
        ),
    ),
    Mutant(
        "another largest size passes",
        "hierarchy/verify.py",
        find='parameters["max_size"] != frame.max_size,',
        replace='parameters["max_size"] < 0,',
        breaks="noise for another sensitivity than the frame's",
        tests=("tests/hierarchy/test_verify_counts.py::test_facts_that_differ_are_rejected",),
    ),
    Mutant(
        "leaves go unchecked",
        "hierarchy/verify.py",
        find="cost(leaf[end]))",
        replace="Fraction(0))",
        breaks="what is spent at the leaves is not counted",
        tests=("tests/hierarchy/test_verify_counts.py::test_each_path_costs_exactly_epsilon",),
    ),
    Mutant(
        "another relation passes",
        "hierarchy/verify.py",
        find='parameters["neighbors"] != getattr(guarantee, "neighbors", None),',
        replace='not parameters["neighbors"],',
        breaks="noise for removing, a claim about replacing",
        tests=("tests/hierarchy/test_verify_counts.py::test_facts_that_differ_are_rejected",),
    ),
    Mutant(
        "direct counts of sensitivity 1",
        "hierarchy/sensitivity.py",
        find="added, replaced = (2, 4) if norm == 1 else (2, 6)",
        replace="added, replaced = (1, 2) if norm == 1 else (2, 6)",
        breaks="sensitivity halved: a group leaves one size and joins another",
        tests=("tests/hierarchy/test_measure.py::test_sensitivities_are_those_of_all_neighbors",),
    ),
    Mutant(
        "squared sensitivity of replacing too small",
        "hierarchy/sensitivity.py",
        find="else (2, 6)",
        replace="else (2, 4)",
        breaks="sensitivity too small: the changes overlap in one cell",
        tests=("tests/hierarchy/test_measure.py::test_sensitivities_are_those_of_all_neighbors",),
    ),
    Mutant(
        "replacing costs as much as removing",
        "hierarchy/sensitivity.py",
        find='return added if neighbors == "add-remove-person" else replaced',
        replace="return added",
        breaks="sensitivity halved for one of the two relations",
        tests=("tests/hierarchy/test_measure.py::test_sensitivities_are_those_of_all_neighbors",),
    ),
    Mutant(
        "a chain of sensitivity 1",
        "hierarchy/sensitivity.py",
        find="moved *= int(tree.level_start[level + 1] - tree.level_start[level])",
        replace="moved *= 1",
        breaks="the published error: one region's sensitivity for the whole chain",
        tests=("tests/hierarchy/test_measure.py::test_sensitivities_are_those_of_all_neighbors",),
    ),
    Mutant(
        "a person adds one",
        "hierarchy/sensitivity.py",
        find="moved = min(frame.max_quantity, frame.max_size)",
        replace="moved = 1",
        breaks="a person with several records counts as one",
        tests=("tests/hierarchy/test_measure.py::test_sensitivities_are_those_of_all_neighbors",),
    ),
    Mutant(
        "every level has the whole budget",
        "hierarchy/measure.py",
        find="scales = [inner[level] for level in tree.levels.tolist()]",
        replace="scales = [bounds[level] / budget for level in tree.levels.tolist()]",
        breaks="epsilon is spent once a level",
        tests=(
            "tests/hierarchy/test_measure.py::test_every_path_of_a_ragged_tree_spends_exactly_the_budget",
        ),
    ),
    Mutant(
        "leaves inherit too much",
        "hierarchy/measure.py",
        find="below = [sum(shares[level:], Fraction(0))",
        replace="below = [sum(shares, Fraction(0))",
        breaks="a leaf spends what was spent above it",
        tests=(
            "tests/hierarchy/test_measure.py::test_every_path_of_a_ragged_tree_spends_exactly_the_budget",
        ),
    ),
    Mutant(
        "levels without a budget are published",
        "hierarchy/measure.py",
        find="                flat[run] = 0\n",
        replace="                flat[run] += 0\n",
        breaks="true counts without noise",
        tests=("tests/hierarchy/test_measure.py::test_a_level_without_a_share_is_not_measured",),
    ),
    Mutant(
        "one noise for all entries",
        "hierarchy/measure.py",
        find="int(starts[stop] - starts[first]), source)",
        replace="1, source)",
        breaks="a seed reused: differences of counts are the true ones",
        tests=("tests/hierarchy/test_measure.py::test_noise_has_the_stated_variance",),
    ),
    Mutant(
        "noise that is marked as private",
        "hierarchy/measure.py",
        find="seeded=not is_private(bits),",
        replace="seeded=False,",
        breaks="a release from a seed is not marked",
        tests=("tests/hierarchy/test_measure.py::test_noise_has_the_stated_variance",),
    ),
    Mutant(
        "Laplace noise for rho",
        "hierarchy/measure.py",
        find='draw = discrete_laplaces if noise == "laplace" else discrete_gaussians',
        replace="draw = discrete_laplaces",
        breaks="noise of another law than the claim's",
        tests=("tests/hierarchy/test_measure.py::test_noise_has_the_stated_variance",),
    ),
    Mutant(
        "twice the budget",
        "hierarchy/measure.py",
        find="budget = _amount(guarantee) * norm",
        replace="budget = _amount(guarantee) * 2",
        breaks="noise of half the scale for pure differential privacy",
        tests=(
            "tests/hierarchy/test_measure.py::test_every_path_of_a_ragged_tree_spends_exactly_the_budget",
        ),
    ),
    Mutant(
        "the ledger is charged after reading",
        "hierarchy/plan.py",
        find=(
            "        if budget is not None and dataset:\n"
            "            budget.reserve(dataset, self.guarantee)\n"
            "        with"
        ),
        replace=(
            "        self._count(source)\n"
            "        if budget is not None and dataset:\n"
            "            budget.reserve(dataset, self.guarantee)\n"
            "        with"
        ),
        breaks="who stops the process after reading pays nothing",
        tests=(
            "tests/hierarchy/test_plan.py::test_a_lazy_source_that_fails_in_the_middle_is_charged_once",
        ),
    ),
    Mutant(
        "the ledger is not charged",
        "hierarchy/plan.py",
        find=(
            "        if budget is not None and dataset:\n"
            "            budget.reserve(dataset, self.guarantee)"
        ),
        replace=(
            "        if budget is not None and not dataset:\n"
            "            budget.reserve(str(dataset), self.guarantee)"
        ),
        breaks="releases that cost nothing",
        tests=(
            "tests/hierarchy/test_release.py::test_a_budget_is_charged_before_the_data_are_read",
        ),
    ),
    Mutant(
        "a plan takes counts on other public facts",
        "hierarchy/plan.py",
        find="if source.frame != self.frame:",
        replace="if source.frame is None:",
        breaks="noise for other bounds than the data have",
        tests=("tests/hierarchy/test_plan.py::test_a_plan_refuses_counts_on_other_public_facts",),
    ),
    Mutant(
        "a declaration is not recorded",
        "hierarchy/plan.py",
        find="_declaration(frame) if declared else ()",
        replace="()",
        breaks="regions read from the private table pass for a public list",
        tests=("tests/hierarchy/test_plan.py::test_declared_regions_stand_in_plan_and_release",),
    ),
    Mutant(
        "the certificate is not asked",
        "hierarchy/plan.py",
        find="made.certificate.raise_for_failure()",
        replace="made.certificate.to_dict()",
        breaks="a table that failed its check is returned",
        tests=(
            "tests/audits/test_hierarchy_privacy.py::test_half_the_sensitivity_is_refused_by_the_certificate_too",
        ),
    ),
    Mutant(
        "a method without a proof is released",
        "hierarchy/plan.py",
        find="        if without:",
        replace="        if not self.method:",
        breaks="M_c^ch as published is released with a guarantee",
        tests=(
            "tests/hierarchy/test_chain.py::test_a_plan_of_another_method_cannot_become_one_of_it",
        ),
    ),
    Mutant(
        "a published chain has no reason",
        "hierarchy/as_published/m_c_ch.py",
        find='unproven: ClassVar[str] = METHODS["m-c-ch"].why_none',
        replace='unproven: ClassVar[str] = ""',
        breaks="M_c^ch as published is released with a guarantee",
        tests=(
            "tests/hierarchy/test_chain.py::test_as_published_it_is_no_release_and_says_what_it_spends",
        ),
    ),
    Mutant(
        "what a published chain spends is not said",
        "hierarchy/as_published/m_c_ch.py",
        find="share * width",
        replace="share",
        breaks="the true epsilon of M_c^ch is not stated",
        tests=(
            "tests/hierarchy/test_chain.py::test_as_published_it_is_no_release_and_says_what_it_spends",
        ),
    ),
    Mutant(
        "sizes are not top-coded",
        "hierarchy/records.py",
        find="top = nw.col(SIZE).clip(upper_bound=frame.max_size)",
        replace="top = nw.col(SIZE)",
        breaks="one person moves more than the sensitivity says",
        tests=("tests/hierarchy/test_tables.py::test_people_are_grouped_by_unit_and_top_coded",),
    ),
    Mutant(
        "a person's quantity is not clipped",
        "hierarchy/records.py",
        find="number.clip(upper_bound=most).alias(SIZE)",
        replace="number.alias(SIZE)",
        breaks="one person adds more than the sensitivity says",
        tests=(
            "tests/hierarchy/test_tables.py::test_quantities_are_added_up_and_clipped_for_each_person",
        ),
    ),
    Mutant(
        "intervals without their errors",
        "hierarchy/noise_sum.py",
        find=("covered = np.cumsum(inside) - beyond - drift - rounded * (2 * np.arange(half) + 1)"),
        replace="covered = np.cumsum(inside) * (1 + 1e-3)",
        breaks="an interval that covers less often than it says",
        tests=("tests/hierarchy/test_noise_sum.py::test_the_half_width_is_the_least_that_covers",),
    ),
    Mutant(
        "one unit too many is taken away",
        "hierarchy/methods/top_down.py",
        find="(turn < excess[:, None])",
        replace="(turn <= excess[:, None])",
        breaks="children that do not sum to their parent",
        tests=("tests/hierarchy/test_rivals.py::test_no_other_whole_row_with_the_sum_is_nearer",),
    ),
    Mutant(
        "sums of published counts may wrap",
        "hierarchy/verify.py",
        find="np.int64 if largest * table.size < 1 << 62 else object",
        replace="np.int64 if largest * table.size < 1 << 99 else object",
        breaks="regions that do not add up pass",
        tests=("tests/hierarchy/test_verify_counts.py::test_sums_that_wrap_do_not_hold",),
    ),
    Mutant(
        "what a record says of its levels is believed",
        "hierarchy/verify.py",
        find='if parameters.get("sensitivity", moved) != moved:',
        replace='if not parameters.get("sensitivity", moved):',
        breaks="a record with a sensitivity that is too small passes",
        tests=(
            "tests/hierarchy/test_verify_counts.py::test_what_a_record_says_of_levels_is_checked",
        ),
    ),
    Mutant(
        "a dataset without a ledger is published",
        "hierarchy/plan.py",
        find="if budget is None and dataset is not None:",
        replace="if budget is None and dataset is not None and not dataset:",
        breaks="a release that its owner believes to be charged",
        tests=(
            "tests/hierarchy/test_release.py::test_a_dataset_without_a_ledger_is_not_taken_for_charged",
        ),
    ),
)
