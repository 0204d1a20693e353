"""Mutants of mechanisms of a region: their verifier, what is sent."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "a refusal names the place within a field",
        "service/messages.py",
        find='field = str(first["loc"][0]) if first["loc"] else cls.title()',
        replace='field = ".".join(map(str, first["loc"])) or cls.title()',
        breaks="a key that came from the wire is repeated",
        tests=("tests/service/test_messages.py::test_every_message_keeps_every_law",),
    ),
    Mutant(
        "messages are read leniently",
        "service/messages.py",
        find="        strict=True,\n",
        replace="",
        breaks="the server takes what the client refuses: a number as a text, a float as a place",
        tests=(
            "tests/service/test_messages.py::test_both_readers_take_and_refuse_the_same_messages",
        ),
    ),
    Mutant(
        "a boolean is an integer on the wire",
        "lrgeo/messages.py",
        find="if isinstance(version, bool) or not isinstance(version, int):",
        replace="if not isinstance(version, int):",
        breaks="the client takes what the server refuses",
        tests=(
            "tests/service/test_messages.py::test_both_readers_take_and_refuse_the_same_messages",
        ),
    ),
    Mutant(
        "a mechanism of another digest is taken",
        "lrgeo/messages.py",
        find='if made.digest != message["digest"]:',
        replace='if made.digest == "":',
        breaks="a server's message names one mechanism and carries another",
        tests=("tests/service/test_client.py::test_an_altered_mechanism_is_refused_and_not_kept",),
    ),
    Mutant(
        "a link to a state is replaced by a second ledger",
        "artefact/private_files.py",
        find="return Path(os.path.realpath(path))",
        replace="return Path(path)",
        breaks="link and target each have a budget",
        tests=("tests/test_private_files.py", "tests/service/test_client.py"),
    ),
    Mutant(
        "a state that was exchanged under the lock is replaced",
        "artefact/private_files.py",
        find="if not same or not self._has_lock():",
        replace="if not self._has_lock():",
        breaks="what another file had spent is forgotten",
        tests=("tests/test_private_files.py",),
    ),
    Mutant(
        "a lock that was removed is still held",
        "artefact/private_files.py",
        find="if not same or not self._has_lock():",
        replace="if not same:",
        breaks="two processes that both hold the lock spend one budget",
        tests=("tests/test_private_files.py",),
    ),
    Mutant(
        "a report within a radius costs what neighbors lose",
        "lrgeo/epochs.py",
        find="epsilon = client.cost",
        replace="epsilon = client.mechanism.guarantee.epsilon",
        breaks="places far apart lose more than the ledger says",
        tests=("tests/lrgeo/test_epochs.py",),
    ),
    Mutant(
        "places that were pinned elsewhere are places here",
        "lrgeo/epochs.py",
        find="if state.region != snapping.mechanism.region.digest:",
        replace="if not state.region:",
        breaks="what was drawn for one place is shown at another",
        tests=("tests/lrgeo/test_epochs.py",),
    ),
    Mutant(
        "pairs at the radius go unchecked",
        "lrgeo/verify.py",
        find="distances <= int(guarantee.radius * 2**scale_bits)",
        replace="distances < int(guarantee.radius * 2**scale_bits)",
        breaks="constraints dropped at exactly the radius",
        tests=(
            "tests/lrgeo/test_verify_mechanism.py::test_a_radius_binds_only_near_pairs_and_must_connect_all",
        ),
    ),
    Mutant(
        "close calls go unchecked",
        "lrgeo/verify.py",
        find=(
            "wrong += sum(_breaks(channel, guarantee, i, j) for j in "
            "np.flatnonzero(close).tolist())"
        ),
        replace="wrong += 0",
        breaks="what floats cannot decide is believed",
        tests=(
            "tests/lrgeo/test_verify_mechanism.py::test_what_is_close_to_equality_is_settled_in_integers",
        ),
    ),
    Mutant(
        "clear violations go unchecked",
        "lrgeo/verify.py",
        find="wrong += int((pairs & (most > limit + max_log_error)).sum())",
        replace="wrong += 0",
        breaks="what is clear is believed to be close",
        tests=(
            "tests/lrgeo/test_verify_mechanism.py::test_one_weight_that_tells_too_much_is_found",
        ),
    ),
    Mutant(
        "neighbors in the table's order go unchecked",
        "lrgeo/verify.py",
        find="pairs[: i + 1] = False",
        replace="pairs[: i + 2] = False",
        breaks="constraints dropped: places i and i + 1",
        tests=(
            "tests/lrgeo/test_mechanism_refusals.py::test_the_only_pair_of_two_places_is_looked_at",
        ),
    ),
    Mutant(
        "rows are compared without their totals",
        "lrgeo/verify.py",
        find="max(a * total_q, b * total_p) << FRACTIONAL_BITS > factor * min(a * total_q, b * total_p)",
        replace="max(a, b) << FRACTIONAL_BITS > factor * min(a, b)",
        breaks="weights are not probabilities where totals differ",
        tests=(
            "tests/lrgeo/test_mechanism_refusals.py::test_integers_compare_probabilities_and_not_weights",
        ),
    ),
    Mutant(
        "close calls the other way round",
        "lrgeo/verify.py",
        find="<< FRACTIONAL_BITS > factor * min(",
        replace="<< FRACTIONAL_BITS < factor * min(",
        breaks="inequality reversed where integers decide",
        tests=(
            "tests/lrgeo/test_verify_mechanism.py::test_what_is_close_to_equality_is_settled_in_integers",
        ),
    ),
    Mutant(
        "places may coincide",
        "lrgeo/verify.py",
        find='Check("pairs at distance 0", unbound // 2, 0, exact=True)',
        replace='Check("pairs at distance 0", 0, 0, exact=True)',
        breaks="a constraint dropped: equal places need equal rows",
        tests=("tests/lrgeo/test_verify_mechanism.py::test_places_at_distance_zero_are_rejected",),
    ),
    Mutant(
        "groups may stay apart",
        "lrgeo/verify.py",
        find='Check("groups of places", _groups(bound), 1, exact=True)',
        replace='Check("groups of places", 1, _groups(bound), exact=True)',
        breaks="inequality reversed: places between which nothing is promised",
        tests=(
            "tests/lrgeo/test_verify_mechanism.py::test_a_radius_binds_only_near_pairs_and_must_connect_all",
        ),
    ),
    Mutant(
        "units are not compared",
        "lrgeo/verify.py",
        find="if guarantee.unit != space.unit:",
        replace="if not guarantee.unit:",
        breaks="epsilon per mile on a map in kilometers",
        tests=("tests/lrgeo/test_verify_mechanism.py::test_another_unit_is_refused",),
    ),
    Mutant(
        "a failed certificate is believed",
        "lrgeo/mechanism.py",
        find="if not self.certificate.passed:",
        replace="if not self.certificate.checks:",
        breaks="a mechanism that failed its check is sent",
        tests=(
            "tests/lrgeo/test_mechanism_refusals.py::test_a_certificate_that_failed_is_refused",
        ),
    ),
    Mutant(
        "a changed mechanism is believed",
        "lrgeo/mechanism.py",
        find='if text_digest(plain) != data["digest"]:',
        replace='if not data["digest"]:',
        breaks="what was altered on its way is used",
        tests=(
            "tests/lrgeo/test_mechanism_refusals.py::test_one_fact_that_was_altered_is_refused",
        ),
    ),
    Mutant(
        "another region passes",
        "lrgeo/mechanism.py",
        find="if region is not None and region.digest != design.region.digest:",
        replace="if region is not None and not region.digest:",
        breaks="a mechanism for other places",
        tests=(
            "tests/lrgeo/test_mechanism_refusals.py::test_a_design_for_another_region_is_refused",
        ),
    ),
    Mutant(
        "a client takes whatever keeps its claim",
        "lrgeo/points/client.py",
        find="    if not check.passed:\n        raise CertificateError(Certificate((check,)))",
        replace="    if not check.name:\n        raise CertificateError(Certificate((check,)))",
        breaks="a server that was swapped chooses how much is given away",
        tests=(
            "tests/service/test_accepting.py::test_what_is_weaker_than_accepted_is_refused_verified_or_not",
        ),
    ),
    Mutant(
        "a radius protects pairs beyond it as near ones",
        "lrgeo/client.py",
        find="MetricDP(claimed.epsilon * stretch, claimed.unit)",
        replace="MetricDP(claimed.epsilon, claimed.unit)",
        breaks="a mechanism that is weaker between far places counts as strong enough",
        tests=(
            "tests/service/test_accepting.py::test_a_radius_counts_by_what_holds_for_all_pairs",
        ),
    ),
)
