"""A judge's score corrected by human labels: estimators for audits, calibration samples and annotator tests."""
