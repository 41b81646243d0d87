"""Numbers of a sweep. The word at place t of document d uses the mixed bits of seed + d · DOCUMENT_STEP + (t + 1) ·
WORD_STEP (the splitmix64 generator), so that every document has its own, whoever sweeps it. What is weighed and counted
are whole numbers, which add up to the same in any order; a weight has at most 13 bits of words, 16 of likelihood and 16
of fractions, so that sums of them fit a float64, too."""

DOCUMENT_STEP = 0xD1B54A32D192ED03
WORD_STEP = 0x9E3779B97F4A7C15
MIX_1, MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
UNIFORM = 2.0**-53           # times 53 random bits: a number from 0 to 1
LIKELIHOOD_STEPS = 2**16 - 1
PRIOR_BITS = 16
PRIOR_STEPS = 1 << PRIOR_BITS
FIXED_POINT = 2.0**32        # expected draws are counted in units of its inverse
