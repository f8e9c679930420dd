"""What the reconstruction attacks share.

tasks            CountMod, Star and batch queries as curators, solved with differential privacy each time
block_attackers  attackers that delete stars and collect one block of answers after another
fourier_queries  Dwork and Yekhanin's reconstruction from n Fourier queries
walsh_hadamard   the fast transform that it uses
pictures         a hidden image that appears as points are deleted
line_picture     a chart of two means as points are deleted
"""
