"""Moments of documents in a basis, the additive moment state, HDP coefficients. NumPy only.

Docstrings cite ``docs/formulas.md`` by section.

| symbol | name here |
|---|---|
| c, m | counts of a document, its ``lengths`` |
| η | document weight: ``factor`` of its node times m or 1 |
| φ1, φ2, φ3 | unbiased leaf moments of a document |
| w1, w2, w3 | η/m, η/(m(m−1)), η/(m(m−1)(m−2)): ``per_word``, ``per_pair``, ``per_triple`` times η |
| d, p | ``vocab_size``, columns of the basis |
| B = diag(s) Q | ``Basis.projection``, ``Basis.scale``, ``Basis.directions`` |
| y = Bᵀc | ``ProjectedBatch.y`` |
| M1, M2, M3 | ``ProjectedMoments.first``, ``second``, ``third``; M1 over words ``MomentState.mean_words()`` |
| s2, H | columns and rows of ``word_weights``, ``word_third`` |
| C2 … C6, g | ``HDPCoefficients``, concentrations |
| X2, X3, J3 | ``GroupAverages.second``, ``third``, ``mixed`` |
| n_eff | ``effective_sample_size`` |
"""
