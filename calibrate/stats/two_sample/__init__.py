"""Two samples of conversations: how far apart they are, beside how far people are from people."""
