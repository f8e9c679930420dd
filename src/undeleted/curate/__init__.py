"""Publish once with differential privacy; honour deletions from the release and the deleted record alone.

    statistics    the bounded integers that one record adds: one file per statistic
    engines       sum a statistic, in memory or in the database: one file per engine
    mechanisms    release once, forget from the release and the deleted record: one file per mechanism
    releases      how a release forgets (`Subtracting`) and is read: noisy totals (`Linear`), trees, boxes
    publications  the kinds that a spec can name, as the mechanisms declare them
    spec          the TOML file that says what is published
    stores        the current state, and what makes it forget: one SQLite file, or a PostgreSQL schema
    receipts      a person's receipt, and the certificate of deletion
    issuing       writes what people leave with, for a store that keeps no records
    destinations  where receipts go: a file, a folder, a function
    answers       answers as tables: labels, estimate, interval, confidence, version
    synthetic     rows of a model of published marginals, fitted from scratch in a process of its own
    notebook      the same for notebooks, with bars
    curator       publish, delete, show, status, check: the entry point for records
    joining       what a curator does for a table that grows: add, correct, tick
    growing       how a table grows: its clock, its horizon, its leavers
    publishing    from a data frame to a curator in one call
    tick_clock    when the ticks of a table that grows close
    files, connections, kernels, durable    tables from files, databases by address, compiled loops, fsync

Imports `errors` and `foundations`.
"""
