"""What people touch: the command line, and later the pages."""
