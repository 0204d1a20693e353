"""Mutants of files and signals: tables and their records, private folders, how runs end, how much is read."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "the table before its record",
        "artefact/sidecar.py",
        find="        put_file(record, encoded({**stated, _UNFINISHED: former}))\n        try:",
        replace="        try:",
        breaks="a run that is killed between two renames leaves a new table beside an old record",
        tests=(
            "tests/test_pairs.py::test_at_every_step_a_killed_run_leaves_the_pair_before_or_the_new_one",
        ),
    ),
    Mutant(
        "the record before is not kept",
        "artefact/sidecar.py",
        find='return {"sha256": _digest_or_none(path), "record": text}',
        replace='return {"sha256": _digest_or_none(path), "record": None}',
        breaks="a run that is killed before it replaces a table leaves that without its record",
        tests=(
            "tests/test_pairs.py::test_a_pair_that_was_interrupted_again_and_again_stays_a_pair",
        ),
    ),
    Mutant(
        "any table is the one before",
        "artefact/sidecar.py",
        find="    if digest != before:",
        replace="    if digest == new:",
        breaks="a table that was altered after a killed run is judged as the one before, and not told",
        tests=("tests/test_pairs.py::test_a_table_that_is_neither_is_refused_and_told",),
    ),
    Mutant(
        "a signal between two renames is heard at once",
        "artefact/placing.py",
        find="    for number in former:\n        signal.signal(number, lambda",
        replace="    for number in ():\n        signal.signal(number, lambda",
        breaks="Ctrl-C leaves a record that is not finished",
        tests=("tests/test_pairs.py::test_a_signal_between_the_two_renames_is_heard_after_them",),
    ),
    Mutant(
        "files on their way are for everybody",
        "tables/rooms.py",
        find="path.touch(0o600, exist_ok=False)",
        replace="path.touch(0o666, exist_ok=False)",
        breaks="private rows are kept from others by their folder alone",
        tests=("tests/test_rooms.py::test_what_is_written_in_a_room_is_for_its_owner_alone",),
    ),
    Mutant(
        "rooms are not locked",
        "tables/rooms.py",
        find="            try_lock(lock.fileno())\n            # Under",
        replace="            # Under",
        breaks="a run removes the rows of another one that lives",
        tests=("tests/test_rooms.py::test_a_room_is_for_its_owner_and_is_removed",),
    ),
    Mutant(
        "a private page keeps the permissions that were there",
        "artefact/placing.py",
        find="mode = OWNER_RIGHTS if private else _mode_of(path)",
        replace="mode = _mode_of(path)",
        breaks="numbers computed from the original are readable for everybody",
        tests=(
            "tests/cli/test_cli_signals.py::test_pages_with_private_numbers_are_for_their_owner_alone",
        ),
    ),
    Mutant(
        "the second signal counts",
        "cli/signals.py",
        find="    if _heard:\n        return\n",
        replace="",
        breaks="a shell that is closed breaks off what the first signal removes",
        tests=(
            "tests/cli/test_cli_signals.py::test_only_the_first_signal_counts_until_what_it_raised_was_lost",
        ),
    ),
    Mutant(
        "a closed terminal kills a server",
        "web/running.py",
        find='for name in ("SIGTERM", "SIGHUP") if',
        replace='for name in ("SIGTERM",) if',
        breaks="the studio leaves the original table behind",
        tests=("tests/studio/test_studio_command.py::test_it_serves_and_leaves_nothing",),
    ),
    Mutant(
        "a dictionary is not expanded",
        "tables/sizes.py",
        find="return chunk.cells * BYTES.per_cell + chunk.uncompressed",
        replace="return chunk.uncompressed",
        breaks="three megabytes take gigabytes once they are read",
        tests=("tests/tables/test_sizes.py::test_the_studio_refuses_a_dictionary_that_expands",),
    ),
    Mutant(
        "lengths of text are not added up",
        "tables/sizes.py",
        find="pl.col(pl.String).str.len_bytes().cast(pl.UInt64)",
        replace="pl.col(pl.String).str.len_bytes().cast(pl.UInt64) * 0",
        breaks="a cell that a million rows refer to is written out a million times",
        tests=(
            "tests/tables/test_sizes.py::test_one_long_cell_that_many_rows_refer_to_is_refused",
        ),
    ),
    Mutant(
        "rows that pass by keep their order",
        "streaming/steps.py",
        find="    order = shuffled(np.arange(len(label)), SystemBits())\n",
        replace="    order = np.arange(len(label))\n",
        breaks="the place of a row of a large table tells whose it is",
        tests=("tests/kanonymity/test_large.py::test_rows_stand_in_a_random_order",),
    ),
    Mutant(
        "the studio reads a Parquet file at once",
        "tables/reading.py",
        find="            refuse_killers(str(plain.path), mark, argument, unknown=unknown)\n",
        replace="",
        breaks="a file that kills its reader kills the studio",
        tests=(
            "tests/studio/test_studio_bad_files.py::test_a_file_that_kills_its_reader_leaves_the_studio_alive",
        ),
    ),
)
