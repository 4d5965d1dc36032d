"""Benchmark of the votes: every system on the same rows and the same candidates, in one process.

    python -m benchmarks.voting            # from the project's folder; about nine minutes
    python -m benchmarks.voting --quick    # a small smoke run, in seconds

Writes voting.json and voting.svg into benchmarks/results; `--quick` writes only where `--out` says.
Needs the extra `benchmarks`. torch is optional, and left out of the table without it: get its CPU
build with `pip install torch==2.13.0` where the package index has that one, and otherwise from the
index of CPU builds that PyTorch's own page names. Reads real tables from $TABPE_DATA, or else from
../shared/data; a simulated table of the same shape stands in for one that is missing, and the
results name it.

What is timed is one pass: the votes of all private rows for all candidates. Candidates are those
of a real run: the paper's preset at epsilon 1, whose populations are kept round by round. Its
noise comes from `FakeNoise`, so nothing here is private, and nothing needs to be. There are N
candidates in the sampling stage (S, the last such round) and (m + 1) N in the ranking stage (R,
the middle round).

- `tabpe`: `StoredTable.count_votes`, with the index of the candidates built anew in each pass.
  Preparing the rows happens once a run, and is reported apart.
- `faiss flat`: `IndexFlatL2` for each class, `add` included. It always runs on all rows: a search
  of fewer than 128,000 numbers takes it another way that is 20 times slower a row, which is its
  own doing in a small class and would be ours in a part of a large one.
- `numpy GEMM`: blocks of rows times all candidates, then `argmin`.
- `torch topk`: what the paper's authors published (pe/histogram/nearest_neighbor_backend/torch.py
  of microsoft/DPSDA): `torch.cdist`, then `topk` with k = 1, a class at once. Where the distances
  of a class would take more than a gigabyte it gets batches of 64 to 1,000 rows instead.
- `torch argmin`: always in such batches, then `argmin`: mostly faster, and not what they do.

The four rivals see float32 numbers and one-hot codes of height sqrt(weight / 2), which put two
categories at a squared distance of the weight. Encoding is not timed, in their favour. All run on
one thread, in turns, several times; ratios are of the fastest passes. Where numpy or torch would
take too long they run on the first part of the rows of each class, and their time is scaled up:
they look at every pair, so it is linear in the rows. Such figures are marked `extrapolated`.
`equivalent_gflops` is what a system that looks at every pair would have to reach to be as fast.

Simulated tables have ten columns from five hidden factors and noise, because columns of real tables
are dependent. That matters to a search that skips pairs, and not to one that looks at all of them;
so case u repeats case a with independent uniform columns, the worst case.

- `cases`: the tables and the cases; `systems`: the systems that are compared
- `measure`: clocks, turns, agreement and the measurements of a case
- `whole`: whole runs in processes of their own; `report`: targets and the figure
"""
