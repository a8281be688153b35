"""Sends the same random requests to the real Placement and to another server, and reports differences.

See ``python -m differential --help`` and ``cargo xtask differential placement``.
"""
