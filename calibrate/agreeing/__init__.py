"""How the agreement of raters is worked out from a table of ratings, part by part."""
