"""Tables in and out: the only code that reads or writes CSV, Parquet and data frames.

A file is looked at first (:mod:`~discreet.tables.dialect`), measured (:mod:`~discreet.tables.sizes`), opened
(:mod:`~discreet.tables.open`) and its columns judged (:mod:`~discreet.tables.columns`,
:mod:`~discreet.tables.validate`); frames of any library pass through :mod:`~discreet.tables.frames`. No message holds a
cell: what is wrong is said by file, column and position. Polars and Arrow are loaded on first use.
"""
