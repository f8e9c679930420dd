"""The paper as code: its claims and its survey, built on the other packages.

    claims         one file per claim, named after its theorem: figures that can fail
    claim          the result of running a claim: figures, pictures, a verdict
    definitions    the survey: one file per definition of unlearning, ours among them
    survey_table   every definition applied to every specimen, next to what the paper says
    specimens      the curators that definitions are applied to
    answers        what a definition says about a curator, and the distances that it uses

Imports everything but `models` and `interfaces`.
"""
