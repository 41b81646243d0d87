"""A matplotlib figure that a notebook displays as it is, without ``%matplotlib`` and without pyplot's state."""

from io import BytesIO

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that knows its own picture."""

    def _repr_png_(self) -> bytes:
        """What Jupyter shows."""
        picture = BytesIO()
        self.savefig(picture, format="png", dpi=120)
        return picture.getvalue()
