"""Random numbers of a sweep: the word at place t of document d uses the mixed bits of seed + d · DOCUMENT_STEP +
(t + 1) · WORD_STEP (the splitmix64 generator), so that every document has its own, whoever sweeps it."""

DOCUMENT_STEP = 0xD1B54A32D192ED03
WORD_STEP = 0x9E3779B97F4A7C15
MIX_1, MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
FIXED_POINT = 2.0**32        # fractions are counted in units of its inverse: whole numbers add up in any order
