"""Our docstrings describe a parameter behind the colon, where numpydoc has its type; the types are in the signature.

``k : number of topics`` becomes numpydoc's ``k`` with a description on the next line, as the reference expects it.
"""

import re
from typing import Any

import griffe

_SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(?:.+\n?)*", re.M)
_ENTRY = re.compile(r"^(\w[\w, *]*?) : (.+)$", re.M)
_TYPE = re.compile(r'[\w.\[\]|"]+( (or|of|with) [\w.\[\]|"]+)*(, (optional|default .*))?')


class HouseStyle(griffe.Extension):
    """Rewrites docstrings as they are loaded."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _SECTION.sub(lambda section: _ENTRY.sub(_described, section[0]), obj.docstring.value)


def _described(entry: re.Match[str]) -> str:
    if _TYPE.fullmatch(entry[2]):
        return entry[0]
    return f"{entry[1]}\n    {entry[2]}"
