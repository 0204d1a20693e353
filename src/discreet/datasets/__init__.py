"""Synthetic data, seeded and public: nothing here comes from people, and nothing here is ever released as private."""

from discreet.datasets.census import MadeCounts, made_census
from discreet.datasets.city import City, made_city
from discreet.datasets.microdata import made_patients, made_people
from discreet.datasets.pickups import Pickups, made_pickups

__all__ = [
    "City",
    "MadeCounts",
    "Pickups",
    "made_census",
    "made_city",
    "made_patients",
    "made_people",
    "made_pickups",
]
