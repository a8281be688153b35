"""Sends the same random requests to the real Placement and to another server, and reports different answers.

``cargo xtask differential placement`` runs it; ``python -m differential --help`` shows the options.
"""
