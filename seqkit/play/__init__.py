"""A server of pages and plain HTTP, which lets others play with models that run here."""
