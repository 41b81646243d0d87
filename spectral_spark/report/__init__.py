"""What people look at: one self-contained HTML page, and figures for notebooks.

``page.build_report`` writes the page from a saved model without Spark; ``figures`` draws with matplotlib;
``pyldavis.to_pyldavis`` gives what ``pyLDAvis.prepare`` takes.
"""

from spectral_spark.report.page import build_report

__all__ = ["build_report"]
