"""Facts of Google Cloud, each table with its source and date; `settings.facts.tables` reads them."""
