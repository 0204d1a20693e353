"""Mutants of anonymous tables: models, classes, what is published, their verifier."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "classes of k - 1 pass",
        "kanonymity/verify.py",
        find="small = int((classes.sizes < k).sum())",
        replace="small = int((classes.sizes < k - 1).sum())",
        breaks="off by one: a row of a class may be missing",
        tests=(
            "tests/kanonymity/test_verify_tables.py::test_suppressed_rows_are_a_class_like_others",
        ),
    ),
    Mutant(
        "a quasi-identifier is not read",
        "kanonymity/verify.py",
        find="codes = [values_in(table, name).codes for name in names]",
        replace="codes = [values_in(table, name).codes for name in names][:1]",
        breaks="classes in one column for classes in all",
        tests=("tests/kanonymity/test_verify_tables.py::test_one_altered_cell_is_rejected",),
    ),
    Mutant(
        "floats are grouped by value",
        "kanonymity/problem/native.py",
        find="        keys = _bits(physical.fill_null(0.0).to_numpy(), name)",
        replace="        keys = physical.fill_null(0.0).to_numpy()",
        breaks="0.0 and -0.0, which a file tells apart, are one class",
        tests=(
            "tests/kanonymity/test_verify_stored_values.py::test_different_values_are_different_classes",
        ),
    ),
    Mutant(
        "moments are grouped by microsecond",
        "kanonymity/problem/native.py",
        find="    codes, first = _numbered(stored, missing)",
        replace="    codes, first = _numbered(stored // 1000, missing)",
        breaks="different nanoseconds are one class",
        tests=(
            "tests/kanonymity/test_verify_stored_values.py::test_different_values_are_different_classes",
        ),
    ),
    Mutant(
        "a missing value is zero",
        "kanonymity/problem/native.py",
        find="codes = np.where(missing, len(known), inverse)",
        replace="codes = inverse",
        breaks="a missing cell and a zero are one class",
        tests=(
            "tests/kanonymity/test_verify_stored_values.py::test_different_values_are_different_classes",
        ),
    ),
    Mutant(
        "one reading of sensitive values",
        "kanonymity/verify.py",
        find="    for reading in values.readings():",
        replace="    for reading in values.readings()[:1]:",
        breaks="nothing and NaN are two values that make a class diverse",
        tests=(
            "tests/kanonymity/test_verify_stored_values.py::test_what_is_the_same_number_makes_no_class_diverse",
        ),
    ),
    Mutant(
        "nan is a number",
        "kanonymity/problem/native.py",
        find="return (0, Decimal(text.strip()), text) if _NUMBER.fullmatch(text.strip()) else (3, 0, text)",
        replace="return (0, float(text), text) if text[:1] in '-+0123456789nN' else (3, 0, text)",
        breaks="the order of values depends on the hashing of text",
        tests=("tests/kanonymity/test_verify_stored_values.py::test_ranks_of_values",),
    ),
    Mutant(
        "rows count as persons",
        "kanonymity/verify.py",
        find="persons = diversity(classes, meaning_codes(table, person))",
        replace="persons = classes.sizes",
        breaks="k rows of one person are a class",
        tests=("tests/kanonymity/test_verify_tables.py::test_persons_are_counted_not_rows",),
    ),
    Mutant(
        "rows count as values",
        "kanonymity/verify.py",
        find="pairs = np.unique(classes.labels[present] * width + codes[present])",
        replace="pairs = classes.labels[present] * width + codes[present]",
        breaks="a class of one value is diverse",
        tests=("tests/kanonymity/test_verify_tables.py::test_diversity_and_closeness_are_checked",),
    ),
    Mutant(
        "half the distance",
        "kanonymity/verify.py",
        find="Fraction(int(part), 2 * n * int(rows))",
        replace="Fraction(int(part), 4 * n * int(rows))",
        breaks="t-closeness at twice t passes",
        tests=("tests/kanonymity/test_verify_tables.py::test_diversity_and_closeness_are_checked",),
    ),
    Mutant(
        "too few values pass",
        "kanonymity/verify.py",
        find="few = int((count < least).sum())",
        replace="few = int((count < least - 1).sum())",
        breaks="off by one in l-diversity",
        tests=("tests/kanonymity/test_verify_tables.py::test_diversity_and_closeness_are_checked",),
    ),
    Mutant(
        "the last value of a range is not covered",
        "kanonymity/verify.py",
        find="[key * size + lo, key * size + hi + 1]",
        replace="[key * size + lo, key * size + hi]",
        breaks="off by one: true rows are called inventions",
        tests=(
            "tests/kanonymity/test_verify_tables.py::test_what_is_published_is_accepted_alone_and_beside_its_original",
        ),
    ),
    Mutant(
        "any row explains any other",
        "kanonymity/verify.py",
        find="fits &= reader.covers(int(at[j][row]), codes[low:high, j])",
        replace="fits |= reader.covers(int(at[j][row]), codes[low:high, j])",
        breaks="published rows that no row of the original explains pass",
        tests=(
            "tests/kanonymity/test_cells_of_every_column.py::test_one_column_that_does_not_fit_is_enough",
        ),
    ),
    Mutant(
        "rows of the original may be used twice",
        "kanonymity/verify.py",
        find="sent = transport(amounts, np.bincount(same)",
        replace="sent = transport(amounts, 2 * np.bincount(same)",
        breaks="a row that was added passes",
        tests=(
            "tests/kanonymity/test_verify_tables.py::test_a_cell_that_covers_too_little_is_rejected_although_classes_are_large",
        ),
    ),
    Mutant(
        "other columns may be changed",
        "kanonymity/verify.py",
        find=("        if name not in names and name in published:\n            both"),
        replace=("        if name in names[:0]:\n            both"),
        breaks="sensitive values that are not the original's pass",
        tests=("tests/kanonymity/test_verify_tables.py::test_one_altered_cell_is_rejected",),
    ),
    Mutant(
        "suppressed rows go uncounted",
        "kanonymity/verify.py",
        find='"rows suppressed", problem.n - n, suppressed',
        replace='"rows suppressed", min(problem.n - n, suppressed), suppressed',
        breaks="more rows are suppressed than is said",
        tests=(
            "tests/kanonymity/test_verify_tables.py::test_suppressed_rows_are_a_class_like_others",
        ),
    ),
    Mutant(
        "rows outside the population",
        "kanonymity/verify.py",
        find="if (people < classes.sizes).any():",
        replace="if (people < 0).any():",
        breaks="presence is computed from a population that lacks rows",
        tests=("tests/kanonymity/test_verify_tables.py::test_presence_in_a_public_table",),
    ),
    Mutant(
        "recursive diversity at its limit",
        "kanonymity/models.py",
        find="row[0] >= c * sum(row[self.l - 1 :])",
        replace="row[0] > c * sum(row[self.l - 1 :])",
        breaks="off by one: a class at the limit passes",
        tests=(
            "tests/kanonymity/test_models_beyond_k.py::test_each_model_accepts_one_class_and_rejects_another",
        ),
    ),
    Mutant(
        "recursive diversity from the next value",
        "kanonymity/models.py",
        find="row[0] >= c * sum(row[self.l - 1 :])",
        replace="row[0] >= c * sum(row[max(0, self.l - 2) :])",
        breaks="off by one in the tail",
        tests=(
            "tests/kanonymity/test_models_beyond_k.py::test_each_model_accepts_one_class_and_rejects_another",
        ),
    ),
    Mutant(
        "entropy decided the other way in close calls",
        "kanonymity/models.py",
        find="return bool(left < right)",
        replace="return bool(left <= right)",
        breaks="a class of exactly l even values is refused",
        tests=(
            "tests/kanonymity/test_models_beyond_k.py::test_each_model_accepts_one_class_and_rejects_another",
        ),
    ),
    Mutant(
        "entropy decided by floats",
        "kanonymity/models.py",
        find="if abs(total) > 2.0**-40 * math.fsum(map(abs, terms)):",
        replace="if total == total:",
        breaks="a float decides a close call",
        tests=(
            "tests/kanonymity/test_models_beyond_k.py::test_entropy_at_its_limit_is_decided_in_integers",
        ),
    ),
    Mutant(
        "closeness at half its distance",
        "kanonymity/models.py",
        find="exact_distances.append(Fraction(sum(map(abs, differences)), 2 * n * N))",
        replace="exact_distances.append(Fraction(sum(map(abs, differences)), 4 * n * N))",
        breaks="classes twice as far away pass",
        tests=(
            "tests/kanonymity/test_models_beyond_k.py::test_each_model_accepts_one_class_and_rejects_another",
        ),
    ),
    Mutant(
        "ordered closeness without carrying",
        "kanonymity/models.py",
        find="carried += difference",
        replace="carried = difference",
        breaks="the distance of ordered values is not the earth mover's",
        tests=("tests/kanonymity/test_models_beyond_k.py::test_distances_are_those_of_the_paper",),
    ),
    Mutant(
        "presence beyond its limit",
        "kanonymity/models.py",
        find="<= most * sum(r) for r in _rows(counts))",
        replace="<= 2 * most * sum(r) for r in _rows(counts))",
        breaks="members can be told with twice the stated certainty",
        tests=(
            "tests/kanonymity/test_models_beyond_k.py::test_presence_accepts_one_class_and_rejects_two",
        ),
    ),
    Mutant(
        "frequencies of the first value only",
        "kanonymity/models.py",
        find="return _marks(max(row) > alpha * sum(row) for row in _rows(counts))",
        replace="return _marks(row[0] > alpha * sum(row) for row in _rows(counts))",
        breaks="a constraint dropped",
        tests=(
            "tests/kanonymity/test_models_beyond_k.py::test_each_model_accepts_one_class_and_rejects_another",
        ),
    ),
    Mutant(
        "the certificate is not asked",
        "kanonymity/anonymize.py",
        find="certificate.raise_for_failure()",
        replace="certificate.to_dict()",
        breaks="a table that failed its check is returned",
        tests=(
            "tests/kanonymity/test_anonymize.py::test_a_table_is_judged_by_its_published_cells",
        ),
    ),
    Mutant(
        "the labels' certificate is not asked",
        "kanonymity/search/search.py",
        find=("audit(candidate.labels, self.k, suppress=self.limits.suppress).raise_for_failure()"),
        replace="audit(candidate.labels, self.k, suppress=self.limits.suppress).to_dict()",
        breaks="classes that failed their check are kept",
        tests=(
            "tests/kanonymity/test_anonymize.py::test_a_method_that_leaves_a_small_class_is_never_believed",
        ),
    ),
    Mutant(
        "classes of k - 1 pass the count",
        "kanonymity/candidate.py",
        find="small = int(((sizes > 0) & (sizes < k)).sum())",
        replace="small = int(((sizes > 0) & (sizes < k - 1)).sum())",
        breaks="a row of a class is missing",
        tests=(
            "tests/kanonymity/test_published_heuristics.py::test_the_audit_rejects_small_classes",
        ),
    ),
    Mutant(
        "suppression without a limit",
        "kanonymity/candidate.py",
        find="excess = max(0, int((classes < 0).sum()) - suppress)",
        replace="excess = 0",
        breaks="more rows are suppressed than was allowed",
        tests=(
            "tests/kanonymity/test_published_heuristics.py::test_the_audit_rejects_small_classes",
        ),
    ),
    Mutant(
        "the order of rows is published",
        "kanonymity/cells.py",
        find="rows = shuffled(np.flatnonzero(published_rows), SystemBits() if bits is None else bits)",
        replace="rows = np.flatnonzero(published_rows)",
        breaks="the place of a row tells whose it is",
        tests=("tests/kanonymity/test_anonymize.py::test_rows_are_shuffled_by_keys",),
    ),
    Mutant(
        "few suppressed rows are shown",
        "kanonymity/cells.py",
        find="int((~published_rows).sum()) >= keep:",
        replace="int((~published_rows).sum()) >= 1:",
        breaks="suppressed rows form a class smaller than k",
        tests=(
            "tests/kanonymity/test_kanonymity_tables.py::test_fewer_suppressed_rows_than_k_are_never_kept",
        ),
    ),
    Mutant(
        "a category's dictionary is published",
        "tables/frames.py",
        find="            column = column.cast(nw.String)\n",
        replace="",
        breaks="values of suppressed rows stand in a column's dictionary",
        tests=(
            "tests/kanonymity/test_kanonymity_tables.py::test_what_a_frame_knows_of_the_original_is_dropped",
        ),
    ),
    Mutant(
        "ranges that end too early",
        "kanonymity/cells.py",
        find='return f"[{column.domain[lo]}, {column.domain[hi]}]"',
        replace='return f"[{column.domain[lo]}, {column.domain[hi - 1]}]"',
        breaks="off by one: a published range that does not hold its rows",
        tests=("tests/kanonymity/test_anonymize.py::test_cells_cover_what_they_stand_for",),
    ),
    Mutant(
        "the shuffle has a seed",
        "kanonymity/cells.py",
        find="SystemBits() if bits is None else bits)",
        replace=(
            '__import__("discreet.core.randomness", '
            'fromlist=["SeededBits"]).SeededBits(0) if bits is None else bits)'
        ),
        breaks="a seed reused: the order can be undone",
        tests=(
            "tests/kanonymity/test_kanonymity_tables.py::test_rows_come_in_another_order_each_time",
        ),
    ),
    Mutant(
        "a row of a class removed",
        "kanonymity/candidate.py",
        find="labels[row] = best\n",
        replace="labels[row] = best if row else -1\n",
        breaks="a row that belongs to no class",
        tests=(
            "tests/kanonymity/test_published_heuristics.py::test_every_method_gives_classes_of_k_and_never_beats_the_optimum",
        ),
    ),
    Mutant(
        "the best risk for the worst",
        "kanonymity/risk.py",
        find='"prosecutor_highest": Fraction(1, int(sizes[0])),',
        replace='"prosecutor_highest": Fraction(1, int(sizes[-1])),',
        breaks="inequality reversed: the risk of the safest row",
        tests=(
            "tests/kanonymity/test_kanonymity_tables.py::test_risks_are_those_of_the_definitions",
        ),
    ),
    Mutant(
        "a carried class loses a row",
        "kanonymity/methods/split_carry.py",
        find="carried = [rows for rows, on in zip(classes, goes_on, strict=True) if on]",
        replace="carried = [rows[1:] for rows, on in zip(classes, goes_on, strict=True) if on]",
        breaks="a row of a class removed where blocks meet",
        tests=(
            "tests/kanonymity/test_split_carry.py::test_the_worked_example_is_solved_to_optimality",
        ),
    ),
    Mutant(
        "a panic escapes",
        "cli/app.py",
        find="except BaseException as error:",
        replace="except Exception as error:",
        breaks="a crash ends with 1, which means that a check failed",
        tests=("tests/cli/test_cli_escapes.py::test_what_escapes_is_one_line_without_its_words",),
    ),
    Mutant(
        "a table of unknown origin is read at once",
        "tables/sizes.py",
        find="tried = (unknown and not mark) or parsing.is_limited()",
        replace="tried = parsing.is_limited()",
        breaks="a file kills its verifier",
        tests=("tests/cli/test_cli_escapes.py::test_small_files_of_ones_own_are_read_at_once",),
    ),
    Mutant(
        "columns that nobody typed are named",
        "tables/columns.py",
        find='    if show:\n        return ", ".join(columns[place - 1] for place in places)',
        replace='    if places:\n        return ", ".join(columns[place - 1] for place in places)',
        breaks="without a line of names a cell of a person is printed",
        tests=(
            "tests/cli/test_cli_canary.py::test_columns_of_the_original_alone_are_told_by_their_places",
        ),
    ),
)
