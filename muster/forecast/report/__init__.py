"""Reports: tables for terminals, Markdown for pull requests, JSON for programs."""
