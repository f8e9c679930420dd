"""Publish once with differential privacy; honour deletions from the release and the deleted record alone.

    statistics    what one record adds, as bounded integers: a file each
    engines       adding a statistic up, in memory or where the data live: a file each
    mechanisms    release once, forget from the release and the deleted record: a file each
    releases      how a release forgets (`Subtracting`); noisy totals (`Linear`), trees, boxes: how it is read
    publications  the kinds that a spec can name, as the mechanisms say them
    spec          the TOML file that says what is published
    stores        the current state, and what makes it forget: one SQLite file, or a schema of PostgreSQL
    receipts      what a person leaves with, and the certificate that they left
    curator       publish, delete, show, status, check: the path of a record begins here
    files, connections, kernels, durable    tables from files, databases by address, compiled loops, fsync

Imports `errors` and `foundations`.
"""
