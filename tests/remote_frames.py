"""Frames that are computed where they lie: lazy ones, and those of other libraries, where these are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import polars as pl


class Duck:
    """DuckDB."""

    def __init__(self) -> None:
        self.frames = pytest.importorskip("duckdb")

    def __call__(self, table: pl.DataFrame) -> Any:
        return self.frames.connect().from_arrow(table.to_arrow())


class Dask:
    """Frames of Dask, in three partitions."""

    def __init__(self) -> None:
        pytest.importorskip("pandas")
        self.frames = pytest.importorskip("dask.dataframe")

    def __call__(self, table: pl.DataFrame) -> Any:
        return self.frames.from_pandas(table.to_pandas(), npartitions=3)


class Spark:
    """Spark, on this machine."""

    def __init__(self) -> None:
        pytest.importorskip("pandas")
        self.frames = pytest.importorskip("pyspark.sql")

    def __call__(self, table: pl.DataFrame) -> Any:
        session = self.frames.SparkSession.builder.master("local[1]")
        session = session.config("spark.ui.enabled", "false").getOrCreate()
        rows = [tuple(row) for row in table.rows()]
        return session.createDataFrame(rows, schema=table.columns)


class Lazy:
    """Lazy frames of Polars."""

    def __call__(self, table: pl.DataFrame) -> Any:
        return table.lazy()


LIBRARIES = [Lazy, Duck, Dask, Spark]
