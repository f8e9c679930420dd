"""What everything else stands on: chance, privacy, what a record is, and how sure an estimate is.

    coins       the only source of noise: secure, seeded, or enumerated with exact probabilities
    privacy     ε, (ε, δ), ρ: calibration, and the least of basic, zCDP and PLD accounting
    schema      columns with public bounds on an integer grid, and rules for what does not fit
    intervals   estimates with intervals that cover the truth despite the noise
    registry    names from file names: a folder is the list of what is in it
    arrays      the array types that the package passes around

Imports `errors` alone.
"""
