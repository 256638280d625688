# Tests of dependent correlations by psych::r.test, on correlations of seeded data.
# Run from the project's root: Rscript scripts/oracles/dependent_correlations.R
# Writes tests/golden/dependent_correlations_r.json

suppressPackageStartupMessages(library(psych))
set.seed(20)

number <- function(value) sprintf("%.17g", value)
field <- function(name, value) sprintf('"%s": %s', name, number(value))

one_case <- function(n) {
  mixing <- matrix(rnorm(16), 4)
  r <- cor(matrix(rnorm(n * 4), n) %*% mixing)
  overlapping <- r.test(n, r12 = r[1, 2], r13 = r[1, 3], r23 = r[2, 3])
  separate <- r.test(n, r12 = r[1, 2], r34 = r[3, 4], r23 = r[2, 3], r13 = r[1, 3], r14 = r[1, 4], r24 = r[2, 4])
  fields <- c(
    field("n", n),
    field("r12", r[1, 2]), field("r13", r[1, 3]), field("r14", r[1, 4]),
    field("r23", r[2, 3]), field("r24", r[2, 4]), field("r34", r[3, 4]),
    field("williams_t", overlapping$t), field("williams_p", overlapping$p),
    field("steiger_z", separate$z), field("steiger_p", separate$p)
  )
  paste0("  {", paste(fields, collapse = ", "), "}")
}

cases <- vapply(c(4, 5, 8, 15, 27, 27, 50, 103, 400), one_case, "")
made_by <- sprintf('R %s.%s, psych %s', R.version$major, R.version$minor, packageVersion("psych"))
lines <- c("{", sprintf(' "made_by": "%s",', made_by), ' "cases": [', paste(cases, collapse = ",\n"), " ]", "}")
writeLines(lines, "tests/golden/dependent_correlations_r.json")
