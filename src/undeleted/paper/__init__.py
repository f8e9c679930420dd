"""The paper, as code that stands on all of the rest.

    claims         claim by claim, as figures that can fail: a file each, named after its theorem
    claim          what a claim is once it has run: figures, pictures, a verdict
    definitions    the survey: one file per definition of unlearning, ours among them
    survey_table   every definition asked about every specimen, beside what the paper says
    specimens      the curators that definitions are asked about
    answers        what a definition says about a curator, and the distances it says it with

Imports everything but `models` and `interfaces`.
"""
