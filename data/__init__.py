"""Content shipped with UserCal: problems, document topics, style attributes, preferences, the demo study."""
