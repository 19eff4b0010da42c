"""A model as one HTML file, which makes text or sound in a browser."""
