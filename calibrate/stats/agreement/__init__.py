"""Agreement between raters: coefficients of two and of many raters, for four levels of measurement."""
