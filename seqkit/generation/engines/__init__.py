"""Engines of generation, each behind generation.Engine; `choose` picks one."""
