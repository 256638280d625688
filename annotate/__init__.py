"""Conversations, ratings, the store, import and export: everything that people and models say about a conversation."""
