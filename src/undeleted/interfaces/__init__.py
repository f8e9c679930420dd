"""The user interfaces: the command line, the HTTP service, and HTML pages that open offline.

    cli      `undeleted …`: results on stdout, the rest on stderr
    http     `undeleted serve`: the service and its web pages
    report   pages about audits, the survey and the reproduction; the answers of a publication

It may import every other package; no other package imports it.
"""
