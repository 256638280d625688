"""Run irrCAC on the tables of agreement_inputs.py and write its results beside them (in an environment of its own).

python scripts/oracles/agreement_irrcac.py agreement_inputs.json tests/golden/agreement_irrcac.json
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from irrCAC.raw import CAC

METHODS = {
    "ac": "gwet", "bp": "bp", "fleiss": "fleiss", "conger": "conger", "kripp": "krippendorff",
}  # fmt: skip


def results(case: dict[str, Any]) -> dict[str, Any]:
    """Return every coefficient that irrCAC has, to 12 decimals."""
    frame = pd.DataFrame(case["ratings"], dtype=float)
    found = {}
    for name, method in METHODS.items():
        cac = CAC(frame.copy(), weights=case["weights"], categories=case["categories"], digits=12)
        made = getattr(cac, method)()["est"]
        found[name] = {
            "value": float(made["coefficient_value"]), "se": float(made["se"]), "observed": float(made["pa"]),
            "expected": float(made["pe"]), "p": float(made["p_value"]),
            "low": float(made["confidence_interval"][0]), "high": float(made["confidence_interval"][1]),
        }  # fmt: skip
    return found


def main() -> None:
    """Read the inputs, write the golden file."""
    source, target = map(Path, sys.argv[1:3])
    cases = [case | {"irrcac": results(case)} for case in json.loads(source.read_text())["tables"]]
    made_by = {"script": "scripts/oracles/agreement_irrcac.py", "irrCAC": version("irrCAC")}
    target.write_text(json.dumps({"made_by": made_by, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
