"""Units of a Gibbs sweep, shared by the sampler and both backends.

A sweep weighs and counts with whole numbers, which have the same sum in any order. The weight of a topic has at most 13
bits of words, 16 of likelihood and 16 of fractions, so that sums of weights are exact in float64, too. The word at
position t of document d draws from state ``seed + d · DOCUMENT_STEP + (t + 1) · GOLDEN_GAMMA`` of SplitMix64: a draw
depends on the document, never on the thread that makes it.
"""

import numpy as np

DOCUMENT_STEP = np.uint64(0xD1B54A32D192ED03)
LIKELIHOOD_STEPS = 2**16 - 1
PRIOR_BITS = 16
PRIOR_STEPS = 1 << PRIOR_BITS
FIXED_POINT = 2.0**32        # expected draws are counted in units of its inverse
