"""The works that the methods paragraph cites, as BibTeX; an entry is written only where it is cited."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORKS = {
    "userproxybench": r"""@misc{userproxybench,
  author = {Jain, Ashish and Sandhu, Armaan},
  title = {{UserProxyBench}: Evaluating {LLM} User Simulators for Agent Benchmarks and Training},
  year = {2026},
  note = {arXiv preprint},
}""",
    "yao2025tau": r"""@inproceedings{yao2025tau,
  author = {Yao, Shunyu and Shinn, Noah and Razavi, Pedram and Narasimhan, Karthik},
  title = {{$\tau$-bench}: A Benchmark for Tool-Agent-User Interaction in Real-World Domains},
  booktitle = {International Conference on Learning Representations},
  year = {2025},
}""",
    "barres2025tau2": r"""@misc{barres2025tau2,
  author = {Barres, Victor and Dong, Honghua and Ray, Soham and Si, Xujie and Narasimhan, Karthik},
  title = {{$\tau^2$-Bench}: Evaluating Conversational Agents in a Dual-Control Environment},
  year = {2025},
  eprint = {2506.07982},
  archiveprefix = {arXiv},
}""",
    "wilson1927": r"""@article{wilson1927,
  author = {Wilson, Edwin B.},
  title = {Probable Inference, the Law of Succession, and Statistical Inference},
  journal = {Journal of the American Statistical Association},
  volume = {22},
  number = {158},
  pages = {209--212},
  year = {1927},
}""",
    "newcombe1998": r"""@article{newcombe1998,
  author = {Newcombe, Robert G.},
  title = {Improved Confidence Intervals for the Difference Between Binomial Proportions Based on Paired Data},
  journal = {Statistics in Medicine},
  volume = {17},
  number = {22},
  pages = {2635--2650},
  year = {1998},
}""",
    "holm1979": r"""@article{holm1979,
  author = {Holm, Sture},
  title = {A Simple Sequentially Rejective Multiple Test Procedure},
  journal = {Scandinavian Journal of Statistics},
  volume = {6},
  number = {2},
  pages = {65--70},
  year = {1979},
}""",
    "mantel1959": r"""@article{mantel1959,
  author = {Mantel, Nathan and Haenszel, William},
  title = {Statistical Aspects of the Analysis of Data from Retrospective Studies of Disease},
  journal = {Journal of the National Cancer Institute},
  volume = {22},
  number = {4},
  pages = {719--748},
  year = {1959},
}""",
    "greenland1985": r"""@article{greenland1985,
  author = {Greenland, Sander and Robins, James M.},
  title = {Estimation of a Common Effect Parameter from Sparse Follow-Up Data},
  journal = {Biometrics},
  volume = {41},
  number = {1},
  pages = {55--68},
  year = {1985},
}""",
    "sato1989": r"""@article{sato1989,
  author = {Sato, Tosiya},
  title = {On the Variance Estimator for the {Mantel-Haenszel} Risk Difference},
  journal = {Biometrics},
  volume = {45},
  number = {4},
  pages = {1323--1324},
  year = {1989},
}""",
    "agresti2005": r"""@article{agresti2005,
  author = {Agresti, Alan and Min, Yongyi},
  title = {Simple Improved Confidence Intervals for Comparing Matched Proportions},
  journal = {Statistics in Medicine},
  volume = {24},
  number = {5},
  pages = {729--740},
  year = {2005},
}""",
    "efron1979": r"""@article{efron1979,
  author = {Efron, Bradley},
  title = {Bootstrap Methods: Another Look at the Jackknife},
  journal = {The Annals of Statistics},
  volume = {7},
  number = {1},
  pages = {1--26},
  year = {1979},
}""",
}
_CITED = re.compile(r"\\cite\{([^}]*)\}")
_WORDS = {
    "userproxybench": "UserProxyBench",
    "yao2025tau": "Yao et al., 2025",
    "barres2025tau2": "Barres et al., 2025",
    "wilson1927": "Wilson, 1927",
    "newcombe1998": "Newcombe, 1998",
    "holm1979": "Holm, 1979",
    "mantel1959": "Mantel and Haenszel, 1959",
    "greenland1985": "Greenland and Robins, 1985",
    "sato1989": "Sato, 1989",
    "agresti2005": "Agresti and Min, 2005",
    "efron1979": "Efron, 1979",
}


def cited(texts: Iterable[str]) -> list[str]:
    r"""Return the keys that texts cite by `\cite{…}`, in order of their first use."""
    found = [key.strip() for text in texts for keys in _CITED.findall(text) for key in keys.split(",")]
    return list(dict.fromkeys(found))


def in_words(text: str) -> str:
    r"""Return a text with `\cite{holm1979}` as `(Holm, 1979)`."""
    return _CITED.sub(lambda m: f"({'; '.join(_WORDS[key.strip()] for key in m[1].split(','))})", text)


def bibliography(texts: Iterable[str]) -> str:
    """Return BibTeX for every work that the texts cite, and for no other.

    Raises:
        KeyError: a text cites a work that is not known here.
    """
    return "".join(f"{_WORKS[key]}\n\n" for key in cited(texts))
