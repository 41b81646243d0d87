"""Python's reader of TOML, which Python 3.10 has under another name."""

import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["tomllib"]
