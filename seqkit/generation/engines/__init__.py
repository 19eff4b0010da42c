"""Generation engines, each an `engine.Engine`; choose.py picks one."""
