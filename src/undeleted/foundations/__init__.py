"""What the other packages build on: randomness, privacy, the schema of a record, and intervals.

    coins       the only source of noise: secure, seeded, or enumerated with exact probabilities
    privacy     ε, (ε, δ), ρ: calibration, and the smallest of the basic, zCDP and PLD bounds
    schema      columns with public bounds on an integer grid, and rules for values that do not fit
    intervals   estimates with intervals that cover the exact value despite the noise
    registry    registries made of file names: every file in a folder is one entry
    arrays      the array types that are used throughout the package
    digits      numbers as people read them
    types       names for values whose type nobody can know

Imports only `errors`.
"""
