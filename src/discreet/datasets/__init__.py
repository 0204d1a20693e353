"""Made data, seeded and public: nothing here comes from people, and nothing here is ever released as private."""

from discreet.datasets.census import MadeCounts, made_census
from discreet.datasets.city import City, made_city

__all__ = ["City", "MadeCounts", "made_census", "made_city"]
