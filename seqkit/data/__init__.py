"""Files become symbols, and symbols become batches."""
