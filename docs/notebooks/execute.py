"""Execute the notebooks of this folder from the repository's root and keep what they show.

    make notebook                                     # in place
    make notebook ARGS="--output out/notebooks"       # elsewhere
"""

import argparse
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]


def execute(path: Path, output: Path, folder: Path) -> None:
    """Run a notebook with this Python in ``folder`` and write it with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}, record_timing=False).execute()
    for cell in notebook.cells:
        cell.metadata.clear()
        if cell.cell_type == "code":
            # What Java and Spark say of themselves while they start is not the notebook's.
            cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                         "language_info": {"name": "python"}}
    output.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, output / path.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=HERE, help="where the executed notebooks go (default: in place)")
    parser.add_argument("--folder", type=Path, default=REPOSITORY, help="where they run (default: the repository)")
    given = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable          # workers with this environment, not PATH's python3
    for path in sorted(HERE.glob("*.ipynb")):
        execute(path, given.output.resolve(), given.folder.resolve())


if __name__ == "__main__":
    main()
