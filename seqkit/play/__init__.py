"""Pages that run a model, and a server of pages and plain HTTP for models that run here."""
