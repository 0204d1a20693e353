"""Tables in and out: the only code that reads or writes files of tables and data frames.

A file is opened by its kind and by options (:mod:`~discreet.tables.options`, :mod:`~discreet.tables.sources`,
:mod:`~discreet.tables.foreign_files`), looked at (:mod:`~discreet.tables.dialect`), measured
(:mod:`~discreet.tables.sizes`) and read (:mod:`~discreet.tables.reading`); its cells are read by their meaning
(:mod:`~discreet.tables.cells`), recoded by public rules (:mod:`~discreet.tables.recoding`), and its columns judged
(:mod:`~discreet.tables.columns`, :mod:`~discreet.tables.validate`). Frames of any library pass through
:mod:`~discreet.tables.frames`. No message holds a cell: what is wrong is said by file, column and position. Polars,
Arrow and the readers of other programs' files are loaded on first use.
"""
