# Run psych, vcd and psy on the inputs of agreement_inputs.py and write their results beside them.
#   Rscript scripts/oracles/agreement_r.R agreement_inputs.json tests/golden/agreement_r.json
suppressPackageStartupMessages({library(jsonlite); library(psych); library(vcd); library(psy)})
args <- commandArgs(trailingOnly = TRUE)
inputs <- fromJSON(args[1], simplifyVector = FALSE)
as_matrix <- function(rows) do.call(rbind, lapply(rows, function(row) sapply(row, function(x) if (is.null(x)) NA else x)))

pairs <- lapply(inputs$pairs, function(case) {
  table <- as_matrix(case$table)
  linear <- vcd::Kappa(table, weights = "Equal-Spacing")
  squared <- vcd::Kappa(table, weights = "Fleiss-Cohen")
  by_psych <- psych::cohen.kappa(table)
  case$r <- list(
    vcd = list(
      plain = list(value = unname(linear$Unweighted["value"]), se = unname(linear$Unweighted["ASE"])),
      linear = list(value = unname(linear$Weighted["value"]), se = unname(linear$Weighted["ASE"])),
      quadratic = list(value = unname(squared$Weighted["value"]), se = unname(squared$Weighted["ASE"]))),
    psych = list(
      plain = list(value = by_psych$kappa, se = sqrt(by_psych$var.kappa)),
      quadratic = list(value = by_psych$weighted.kappa, se = sqrt(by_psych$var.weighted))))
  case
})

scales <- lapply(inputs$scales, function(case) {
  table <- as_matrix(case$ratings)
  made <- psych::ICC(table, lmer = FALSE)$results
  by_psy <- psy::icc(table)
  case$r <- list(
    psych = lapply(seq_len(6), function(row) list(
      value = made$ICC[row], f = made$F[row], df1 = made$df1[row], df2 = made$df2[row], p = made$p[row],
      low = made[["lower bound"]][row], high = made[["upper bound"]][row])),
    psy = list(agreement = by_psy$icc.agreement, consistency = by_psy$icc.consistency))
  case
})

complete <- Filter(function(case) !any(is.na(as_matrix(case$ratings))), inputs$tables)
lights <- lapply(complete, function(case) {
  list(id = case$id, ratings = case$ratings, categories = case$categories,
       r = list(psy = psy::lkappa(as_matrix(case$ratings), type = "Cohen")))
})

version_of <- function(name) as.character(packageVersion(name))
held <- list(
  made_by = list(script = "scripts/oracles/agreement_r.R", R = R.version.string, psych = version_of("psych"),
                 vcd = version_of("vcd"), psy = version_of("psy")),
  pairs = pairs, scales = scales, lights = lights)
writeLines(toJSON(held, auto_unbox = TRUE, digits = NA, null = "null"), args[2])
