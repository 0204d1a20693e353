"""Mutants of private choices: accounting, draws, matroids, the release, their verifier."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "gains that move both ways count once",
        "submodular/verify.py",
        find=("    if not statement.decomposable:\n        factor *= 2"),
        replace=("    if not statement.decomposable:\n        factor *= 1"),
        breaks="sensitivity halved in the check",
        tests=(
            "tests/submodular/test_verify_widths.py::test_a_function_that_is_no_sum_moves_twice_as_much",
        ),
    ),
    Mutant(
        "replacing is checked as removing",
        "submodular/verify.py",
        find=('    if statement.neighbors != "add-remove-one":\n        factor *= 2'),
        replace=('    if statement.neighbors != "add-remove-one":\n        factor *= 1'),
        breaks="sensitivity halved in the check",
        tests=(
            "tests/submodular/test_verify_widths.py::test_a_record_that_is_replaced_moves_twice_as_much",
        ),
    ),
    Mutant(
        "a loss that is larger than stated",
        "submodular/verify.py",
        find="if line.loss < loss or",
        replace="if line.loss > loss or",
        breaks="inequality reversed: draws that cost more than was accounted for",
        tests=(
            "tests/submodular/test_verify_selection.py::test_facts_that_do_not_carry_the_lines_are_rejected",
        ),
    ),
    Mutant(
        "permute-and-flip by bounded range",
        "submodular/verify.py",
        find='"permute-and-flip": _COMMON,',
        replace='"permute-and-flip": _BOUNDED,',
        breaks="a rule that does not hold for it",
        tests=("tests/submodular/test_verify_widths.py::test_each_mechanism_has_its_rules",),
    ),
    Mutant(
        "rounds in one pass",
        "submodular/verify.py",
        find='"rounds": _BOUNDED,',
        replace='"rounds": _BOUNDED | {"decomposable, one pass"},',
        breaks="a rule that does not hold for it",
        tests=(
            "tests/submodular/test_verify_selection.py::test_facts_that_do_not_carry_the_lines_are_rejected",
        ),
    ),
    Mutant(
        "a range's rho four times too small",
        "submodular/verify.py",
        find="zero = ZeroConcentratedDP(k * loss**2 / 8, relation)",
        replace="zero = ZeroConcentratedDP(k * loss**2 / 32, relation)",
        breaks="a line that is not proved passes",
        tests=("tests/submodular/test_verify_selection.py::test_each_rule_is_recomputed",),
    ),
    Mutant(
        "fewer draws than were made",
        "submodular/verify.py",
        find="if line.draws * width < len(selection.chosen):",
        replace="if line.draws * width < 0:",
        breaks="draws that nobody accounted for",
        tests=(
            "tests/submodular/test_verify_selection.py::test_fewer_draws_than_elements_are_rejected",
        ),
    ),
    Mutant(
        "sets that may not be chosen pass",
        "submodular/verify.py",
        find="independent = known and matroid.is_independent(elements)",
        replace="independent = known",
        breaks="a constraint dropped",
        tests=(
            "tests/submodular/test_verify_selection.py::test_a_set_that_may_not_be_chosen_is_rejected",
        ),
    ),
    Mutant(
        "advanced composition without its first term",
        "submodular/verify.py",
        find="rest = claim.epsilon - k * loss**2 / 2",
        replace="rest = claim.epsilon",
        breaks="an epsilon that was not proved passes",
        tests=(
            "tests/submodular/test_verify_widths.py::test_claims_are_recomputed_to_a_millionth",
        ),
    ),
    Mutant(
        "joining costs as much as replacing",
        "submodular/verify.py",
        find='joins = epsilon if statement.neighbors == "add-remove-one" else epsilon / 2',
        replace="joins = epsilon",
        breaks="sensitivity halved for the secret subsample",
        tests=(
            "tests/submodular/test_verify_selection.py::test_the_subsample_s_coefficient_is_recomputed",
        ),
    ),
    Mutant(
        "a walk without its delta",
        "submodular/verify.py",
        find="and claim.delta >= off",
        replace="and claim.delta > 0",
        breaks="the distance of the walk from its law is forgotten",
        tests=("tests/submodular/test_verify_selection.py::test_a_walk_must_pay_for_its_distance",),
    ),
    Mutant(
        "another matroid passes",
        "submodular/verify.py",
        find="known = not unknown and not stated",
        replace="known = not unknown",
        breaks="a statement about another matroid",
        tests=(
            "tests/submodular/test_verify_widths.py::test_a_matroid_of_fewer_elements_is_another_one",
        ),
    ),
    Mutant(
        "elements short of a base pass",
        "submodular/verify.py",
        find="abs(statement.rank - len(elements)),",
        replace="max(0, len(elements) - statement.rank),",
        breaks="a selection that stopped early, which tells of the data",
        tests=(
            "tests/submodular/test_verify_selection.py::test_a_set_that_may_not_be_chosen_is_rejected",
        ),
    ),
    Mutant(
        "gains that move both ways are drawn as if once",
        "submodular/problem.py",
        find="one = self.sensitivity if self.decomposable else 2 * self.sensitivity",
        replace="one = self.sensitivity",
        breaks="sensitivity halved: a score may rise while another falls",
        tests=(
            "tests/submodular/test_verify_widths.py::test_the_accountant_s_width_is_the_checker_s",
        ),
    ),
    Mutant(
        "replacing is drawn as removing",
        "submodular/problem.py",
        find='return one if self.neighbors == "add-remove-one" else 2 * one',
        replace="return one",
        breaks="sensitivity halved for one of the two relations",
        tests=("tests/audits/test_private_choices.py::test_replacement_is_accounted_for_twice",),
    ),
    Mutant(
        "many draws cost as much as one",
        "submodular/accounting.py",
        find="return PureDP(draws * loss, neighbors)",
        replace="return PureDP(loss, neighbors)",
        breaks="basic composition without its factor",
        tests=(
            "tests/submodular/test_choice_accounting.py::test_the_first_line_proves_the_guarantee",
        ),
    ),
    Mutant(
        "bounded range, four times too cheap",
        "submodular/accounting.py",
        find="return ZeroConcentratedDP(draws * loss**2 / 8, neighbors)",
        replace="return ZeroConcentratedDP(draws * loss**2 / 32, neighbors)",
        breaks="rho is too small",
        tests=("tests/submodular/test_choice_accounting.py::test_figures_of_the_specification",),
    ),
    Mutant(
        "the root over one draw",
        "submodular/accounting.py",
        find="root_above(2 * draws * log) * loss",
        replace="root_above(2 * log) * loss",
        breaks="advanced composition as misprinted: without the number of draws under the root",
        tests=(
            "tests/submodular/test_choice_accounting.py::test_printed_advanced_composition_is_off_by_four_orders_of_magnitude",
        ),
    ),
    Mutant(
        "one pass for all mechanisms",
        "submodular/accounting.py",
        find="covered = statement.decomposable and draws.one_pass",
        replace="covered = draws.one_pass",
        breaks="a theorem about sums of functions is used for others",
        tests=(
            "tests/submodular/test_release_is_checked.py::test_the_theorem_about_sums_in_one_pass_is_offered_to_nothing_else",
        ),
    ),
    Mutant(
        "a coefficient rounded up",
        "submodular/accounting.py",
        find="    return _short(x, up=False)",
        replace="    return _short(x, up=True)",
        breaks="rounding in the wrong direction: draws that cost more than was accounted for",
        tests=(
            "tests/submodular/test_choice_accounting.py::test_the_subsample_s_coefficient_is_rounded_down",
        ),
    ),
    Mutant(
        "draws at twice the rate",
        "submodular/draws/growing.py",
        find="lambda gains: exponential_mechanism(gains, rate, 1,",
        replace="lambda gains: exponential_mechanism(gains, 2 * rate, 1,",
        breaks="sensitivity halved in the draw itself",
        tests=("tests/audits/test_private_choices.py::test_pure_guarantees_hold_on_all_neighbors",),
    ),
    Mutant(
        "the best is taken",
        "submodular/draws/growing.py",
        find="lambda gains: exponential_mechanism(gains, rate, 1, monotone=True, bits=bits),",
        replace="lambda gains: int(gains.argmax()),",
        breaks="no chance at all: the greedy algorithm",
        tests=(
            "tests/audits/test_private_choices.py::test_lazy_thinning_has_the_law_of_the_eager_mechanism",
        ),
    ),
    Mutant(
        "a subset drawn unevenly",
        "submodular/draws/growing.py",
        find="j = i + bits.randrange(left.size - i)",
        replace="j = bits.randrange(left.size)",
        breaks="not every subset is as likely",
        tests=("tests/submodular/test_base_samplers.py::test_candidates_are_uniform_subsets",),
    ),
    Mutant(
        "a lazy draw that is never refused",
        "submodular/draws/growing.py",
        find="if not bernoulli_exp(self._rate * excess, self._bits):",
        replace="if excess < 0:",
        breaks="elements whose bounds are old come too often, and the bounds are private",
        tests=(
            "tests/audits/test_private_choices.py::test_lazy_thinning_has_the_law_of_the_eager_mechanism",
        ),
    ),
    Mutant(
        "a lazy draw decided by a float",
        "submodular/draws/growing.py",
        find="if not bernoulli_exp(self._rate * excess, self._bits):",
        replace=(
            "if self._bits.randrange(1 << 53) >= 2.0**53 * 2.718281828459045 ** "
            "-float(self._rate * excess):"
        ),
        breaks="a float comparison put into a sampler",
        tests=(
            "tests/audits/test_private_choices.py::test_lazy_thinning_has_the_law_of_the_eager_mechanism",
        ),
    ),
    Mutant(
        "old bounds count as fresh",
        "submodular/draws/growing.py",
        find="fresh = np.zeros(flat.size, dtype=np.bool_)",
        replace="fresh = np.ones(flat.size, dtype=np.bool_)",
        breaks="a draw on bounds, not on gains",
        tests=(
            "tests/audits/test_private_choices.py::test_lazy_thinning_has_the_law_of_the_eager_mechanism",
        ),
    ),
    Mutant(
        "permute-and-flip with replacement",
        "submodular/methods/permute_and_flip.py",
        find="        left.pop()\n",
        replace="",
        breaks="what was refused may come again: another law, without its optimality",
        tests=(
            "tests/audits/test_private_choices.py::test_permute_and_flip_has_its_law_and_no_bounded_range",
        ),
    ),
    Mutant(
        "permute-and-flip that never flips",
        "submodular/methods/permute_and_flip.py",
        find="if bernoulli_exp(rate * (best - int(scores[index])), bits):",
        replace="if scores[index] == best:",
        breaks="the best is taken for sure",
        tests=(
            "tests/audits/test_private_choices.py::test_permute_and_flip_has_its_law_and_no_bounded_range",
        ),
    ),
    Mutant(
        "the subsample's complement",
        "submodular/methods/subsampled.py",
        find="block[:] = ~bernoulli_exps(numerators, epsilon.denominator, bits)",
        replace="block[:] = bernoulli_exps(numerators, epsilon.denominator, bits)",
        breaks="records are kept with the probability with which they should be left out",
        tests=(
            "tests/submodular/test_kept_records.py::test_a_record_is_kept_with_the_stated_probability",
        ),
    ),
    Mutant(
        "a subsample for half the change",
        "submodular/methods/subsampled.py",
        find='joins = epsilon if statement.neighbors == "add-remove-one" else epsilon / 2',
        replace="joins = epsilon",
        breaks="sensitivity halved: replacing is leaving and joining",
        tests=(
            "tests/submodular/test_choice_accounting.py::test_the_subsample_halves_epsilon_for_replacement",
        ),
    ),
    Mutant(
        "a subsample of all records",
        "submodular/methods/subsampled.py",
        find="keep_records(objective.n_records, joins, bits)",
        replace="None",
        breaks="draws on all records at the rate of a subsample's",
        tests=("tests/audits/test_private_choices.py::test_pure_guarantees_hold_on_all_neighbors",),
    ),
    Mutant(
        "a source is not looked at before the charge",
        "submodular/release.py",
        find="            self.check(source)\n            _load_kernels(",
        replace="            _load_kernels(",
        breaks="a plan for another table, or a mistyped column, is charged",
        tests=(
            "tests/cli/test_cli_escapes.py::test_a_choice_from_a_bad_file_costs_nothing",
            "tests/submodular/test_choice_plan.py::test_what_was_planned_for_another_source_is_refused_and_not_charged",
        ),
    ),
    Mutant(
        "a seeded choice is marked as private",
        "submodular/release.py",
        find="seeded=not is_private(bits))",
        replace="seeded=False)",
        breaks="a release from a seed is not marked",
        tests=("tests/submodular/test_release_choice.py::test_seeds_are_told",),
    ),
    Mutant(
        "a method without a proof is released",
        "core/method.py",
        find="allowed = self if accept_no_guarantee else self.proven",
        replace="allowed = self",
        breaks="a published algorithm with a false claim runs as a release",
        tests=("tests/submodular/test_release_choice.py::test_what_has_no_guarantee_says_why",),
    ),
    Mutant(
        "functions that are not monotone are narrow",
        "submodular/stating.py",
        find="spec.decomposable and spec.monotone,",
        replace="spec.decomposable,",
        breaks="sensitivity halved for gains that rise and fall",
        tests=(
            "tests/audits/test_choice_functions.py::test_which_functions_count_as_sums_over_records",
        ),
    ),
    Mutant(
        "a walk of half its steps",
        "submodular/draws/whole_bases.py",
        find="return math.ceil(r * (math.log(log) + (2 * TV_BITS - 1) * math.log(2))) + 1",
        replace="return math.ceil(r * (math.log(log) + (TV_BITS - 1) * math.log(2))) + 1",
        breaks="farther from its law than delta says",
        tests=(
            "tests/submodular/test_walk_steps.py::test_entropy_that_is_left_costs_no_more_than_the_stated_distance",
        ),
    ),
    Mutant(
        "a walk that never leaves an element",
        "submodular/draws/whole_bases.py",
        find="del base[bits.randrange(len(base))]",
        replace="del base[bits.randrange(len(base)) // 2]",
        breaks="some elements are never exchanged",
        tests=("tests/submodular/test_walk_steps.py::test_one_step_may_exchange_every_element",),
    ),
    Mutant(
        "swaps by the wrong weights",
        "submodular/draws/fractional.py",
        find="if source.randrange(total + weight) < total:",
        replace="if source.randrange(2) < 1:",
        breaks="the marginals are not those of the point",
        tests=(
            "tests/submodular/test_swap_rounding.py::test_marginals_are_exact_and_nothing_is_lost_in_expectation",
        ),
    ),
    Mutant(
        "one element more than the rank",
        "submodular/matroids/capacities.py",
        find="int(members[group].sum()) <= capacity for",
        replace="int(members[group].sum()) <= capacity + 1 for",
        breaks="a constraint dropped",
        tests=(
            "tests/submodular/test_matroids.py::test_the_axioms_hold_and_the_mask_is_the_oracle",
        ),
    ),
    Mutant(
        "groups that never fill",
        "submodular/matroids/capacities.py",
        find="if not self._left[number]:",
        replace="if self._left[number] < 0:",
        breaks="a constraint dropped: off by one in a capacity",
        tests=(
            "tests/submodular/test_matroids.py::test_the_axioms_hold_and_the_mask_is_the_oracle",
        ),
    ),
    Mutant(
        "cycles are forests",
        "submodular/matroids/representable.py",
        find="self._tree[self._tree == v] = u",
        replace="self._tree[v] = u",
        breaks="a constraint dropped: trees are not joined as a whole",
        tests=(
            "tests/submodular/test_matroids.py::test_the_axioms_hold_and_the_mask_is_the_oracle",
        ),
    ),
    Mutant(
        "weights beyond one",
        "submodular/objectives/coverage.py",
        find="np.clip(np.nan_to_num(read.astype(np.float64), nan=0.0), 0.0, scale) / scale",
        replace="np.maximum(np.nan_to_num(read.astype(np.float64), nan=0.0), 0.0) / scale",
        breaks="a record counts more than the sensitivity says",
        tests=("tests/submodular/test_whole_weights.py::test_no_record_weighs_more_than_one",),
    ),
    Mutant(
        "columns of the private edges are named",
        "submodular/objectives/coverage.py",
        find='where = f"{source} with {known} there" if of_file else known',
        replace='where = ", ".join(schema)',
        breaks="without a line of names the first client is printed",
        tests=("tests/cli/test_cli_canary.py::test_a_table_without_names_is_not_read_out",),
    ),
)
