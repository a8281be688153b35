"""The same random requests to the real Placement and to another server, and what they answer differently.

``python -m differential --help`` says how; ``cargo xtask differential placement`` does it.
"""
