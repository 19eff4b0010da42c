"""Advice: what data are like, what a run did, and what to try next."""
