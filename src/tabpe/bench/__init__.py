"""The laboratory: experiments of the paper, run, tabled and drawn."""
