"""Language models by their LiteLLM names: one call (chat), and the embedded responder (offline)."""
