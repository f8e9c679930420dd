"""What people meet: the command line, the service, and pages that open offline.

    cli      `undeleted …`: results on stdout, the rest on stderr
    http     `undeleted serve`: the service and its page
    report   pages about audits, the survey and the reproduction; what a publication answers

Imports everything; nothing imports it.
"""
