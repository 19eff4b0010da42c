"""Advice: what data are like, what a run did, what surprises a model, and what to try next."""
