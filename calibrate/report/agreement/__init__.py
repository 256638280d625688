"""How the agreement of raters is written: lines of a terminal, sections of a report, and files."""
