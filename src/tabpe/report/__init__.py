"""The report: all measures of a synthetic table in one place, for people and for programs.

- `contents`: `Contents`, everything a report holds, as values
- `evaluate`: `evaluate`, which measures all of it
- `report`: `Report`: HTML, JSON, data frames, plots
- `verdict`: what the numbers mean, in words
- `promise`: what a certificate promises, for a reader in a hurry
- `text`: values as text, the same everywhere
- `tables`: what the page shows in rows
- `charts`: pictures as SVG
- `html`: the page, from `templates`
"""
