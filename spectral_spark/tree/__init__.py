"""Where documents belong: nodes, census, document weights, effective sample sizes."""
