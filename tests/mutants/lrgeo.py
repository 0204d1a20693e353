"""Mutants of mechanisms of a region: their verifier, what is sent."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = (
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
)
