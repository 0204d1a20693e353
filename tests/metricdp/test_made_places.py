"""Families of places: seeded, of the size that was stated, and different where their names say so."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from made_places import FAMILIES, LOSSES, PRIORS, made_places


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_makes_the_same_places_again(family: str) -> None:
    one, two, other = (made_places(family, 49, seed=seed) for seed in (3, 3, 4))
    assert one.space.digest == two.space.digest
    assert (one.prior == two.prior).all()
    assert (one.loss == two.loss).all()
    assert (one.prior != other.prior).any()
    assert one.prior.sum() == pytest.approx(1)
    assert 0 < one.spacing <= one.radius
    near = one.space.distances * 2.0**-one.space.scale_bits <= one.radius
    assert np.median(near.sum(axis=1) - 1) >= 12


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("loss", LOSSES)
def test_priors_and_losses_are_what_they_are_called(prior: str, loss: str) -> None:
    places = made_places("uniform", 60, seed=1, prior=prior, loss=loss, n_reports=20)
    assert places.loss.shape == (60, 20)
    assert (np.ptp(places.prior) == 0) == (prior == "uniform")
    assert ((places.prior == 0).sum() >= 20) == (prior == "zeros")
    lengths = places.space.distances[:, places.reports] * 2.0**-places.space.scale_bits
    together = np.corrcoef(lengths.ravel(), places.loss.ravel())[0, 1]
    assert (together > 0.99) == (loss == "distance")


def test_near_duplicates_are_near_and_no_duplicates() -> None:
    places = made_places("near duplicates", 100, seed=2)
    lengths = places.space.distances + np.eye(100, dtype=np.int64) * 2**60
    tiny = lengths * 2.0**-places.space.scale_bits < 1e-5
    assert tiny.sum() >= 10
    assert lengths.min() > 0


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"family": "uniforn"}, "family"),
        ({"n": 3}, "n"),
        ({"prior": "even"}, "prior"),
        ({"loss": "none"}, "loss"),
        ({"n_reports": 0}, "n_reports"),
        ({"n_reports": 99}, "n_reports"),
    ],
)
def test_what_is_not_there_is_refused(options: dict[str, object], field: str) -> None:
    stated = {"family": "uniform", "n": 40, "seed": 1, **options}
    family, n = stated.pop("family"), stated.pop("n")
    with pytest.raises(InvalidProblemError) as refused:
        made_places(family, n, **stated)  # type: ignore[arg-type]
    assert refused.value.field == field
