"""Texts that a hostile tenant may write, and that a page must show as text."""

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "<img src=http://127.0.0.1:9/pixel>",
    "javascript:alert(3)",
)
