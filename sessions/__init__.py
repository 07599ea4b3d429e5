"""Recorded conversations: read them, import them into a store, replay them through the memory engine."""
