"""What can be said of a proxy's episodes without a model: diagnostics beside the score, never part of it."""
