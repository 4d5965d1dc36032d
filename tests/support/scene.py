"""A place to run `tabpe` in, where nothing that it says or leaves behind goes unnoticed."""

import contextlib
import logging
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from planted import SCHEMA, Witness, digests, made_up, pieces, table
from searching import chain_of, files_of, leaks
from tabpe import Posterior, TabPE
from tabpe.accounting import ExactNoise
from tabpe.cli.app import app
from tabpe.evaluation.private_metrics import appraise
from tabpe.evolution.config import PRESETS

SMALL = Posterior(candidates=330, pool=2000)
QUICK = {"epsilon": 1, "delta": 1e-6, "n_samples": 300, "random_state": 0}


class Scene:
    """Runs commands and fits, and keeps all that they say.

    The private table is in a folder of its own. Everything else in sight is searched: the working
    folder, the folder for data of the user, and the one for temporary files.

    Args:
        folder: Where to set it up.
        monkeypatch: Sets the environment.
        capfd: Hears what is printed, by whomever.
        preset: The strategy of all runs; the default is with a small pool here.
    """

    def __init__(self, folder, monkeypatch, capfd, preset="best"):
        self.preset = preset
        monkeypatch.setitem(PRESETS, "best", SMALL)
        self.private, self.public = folder / "private", folder / "public"
        for name in ("private", "public/work/spill", "public/home", "public/temp"):
            (folder / name).mkdir(parents=True)
        self.store(table())
        SCHEMA.save(self.private / "schema.yaml")
        monkeypatch.chdir(self.public / "work")
        monkeypatch.setenv("XDG_DATA_HOME", str(self.public / "home"))
        monkeypatch.setenv("TMPDIR", str(self.public / "temp"))
        monkeypatch.setattr(tempfile, "tempdir", str(self.public / "temp"))
        self.witness, self.said, self._capfd = Witness(), [], capfd
        self.witness.install(monkeypatch)
        self._pieces = pieces()

    def store(self, private):
        """Write a private table as CSV and Parquet, in the place of the last one."""
        pa.csv.write_csv(private, self.private / "table.csv")
        pq.write_table(private, self.private / "table.parquet")

    def tabpe(self, *words):
        """Run a command in this process, and return its exit code."""
        with self.listening():
            try:
                app([str(word) for word in words])
            except SystemExit as end:
                return end.code
        return 0

    def synth(self, *words, data="table.csv", schema="schema.yaml"):
        """Run `tabpe synth` on the private table; given words come last, so they win."""
        return self.tabpe(*self._words(data, schema), *words)

    def killed_synth(self, *words):
        """Run `tabpe synth` in a process that is killed in the middle; return how it ended."""
        seen = self.private / "seen.json"
        script = [sys.executable, Path(__file__).with_name("killed.py"), seen]
        words = [str(word) for word in (*self._words("table.csv", "schema.yaml"), *words)]
        ended = subprocess.run([*script, *words], check=False).returncode
        self.witness.believe(seen.read_text())
        return ended

    def _words(self, data, schema):
        named = () if schema is None else ("--schema", self.private / schema)
        usual = ("--delta", "1e-6", "--rows", 300, "-o", "out.csv", "--force")
        return "synth", self.private / data, *named, "--preset", self.preset, *usual

    def fit(self, data, declared=SCHEMA, **changes):
        """Fit a model and keep all that it tells; return the error if it fails."""
        model = TabPE(**(QUICK | {"preset": self.preset} | changes))
        with self.listening():
            try:
                model.fit(data, declared)
            except (Exception, KeyboardInterrupt) as error:
                self.said.append(chain_of(error))
                return error
        model.save("model.tabpe")
        release = TabPE.load("model.tabpe").release_
        told = (model, model.history_, model.certificate, model.certificate.to_json(), release)
        self.said += [f"{one!s}\n{one!r}" for one in told]
        sample = model.sample(1_000)
        self.said.append(str(list(getattr(sample, "dtypes", ()))))
        self.said.append(str(pa.table(sample).schema) + str(pa.table(sample).to_pydict()))
        return model

    def appraise(self, data, declared=SCHEMA, **changes):
        """Measure the private table and keep all that is shown; return an error if any."""
        usual = {"epsilon": 1, "delta": 1e-6, "noise": ExactNoise(), "random_state": 0}
        with self.listening():
            try:
                found = appraise(data, made_up(), declared, **(usual | changes))
            except (Exception, KeyboardInterrupt) as error:
                self.said.append(chain_of(error))
                return error
        certificate = found.measures.certificate
        Path("measures.certificate.json").write_text(certificate.to_json())
        self.said += [f"{found!s}\n{found!r}", f"{certificate!s}\n{certificate!r}"]
        return found

    @contextlib.contextmanager
    def listening(self):
        """Keep what is logged and warned of."""
        listener = logging.Handler()
        listener.emit = lambda record: self.said.append(listener.format(record))
        root = logging.getLogger()
        level = root.level
        root.addHandler(listener)
        root.setLevel(logging.DEBUG)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                yield
        finally:
            root.removeHandler(listener)
            root.setLevel(level)
            self.said += [f"{one.message!s}\n{one.message!r}" for one in caught]

    @contextlib.contextmanager
    def terminal(self, monkeypatch):
        """Let the errors and the progress bar go to a terminal, and keep what it shows."""
        shown, (ours, theirs) = [], os.openpty()
        reader = threading.Thread(target=_read, args=(ours, shown))
        reader.start()
        with monkeypatch.context() as patch, os.fdopen(theirs, "w") as screen:
            patch.setattr("sys.stderr", screen)
            patch.setattr("sys.stdout", screen)
            yield shown
        reader.join()
        os.close(ours)
        self.said.append(b"".join(shown).decode())

    def evidence(self):
        """All that was said, and every file that is there, as bytes by name."""
        # The number of a temporary folder may be any.
        spoken = ("\n".join(self.said), *self._capfd.readouterr())
        said = [text.replace(str(self.public.parent), "") for text in spoken]
        self.said = ["\n".join(said)]
        named = zip(("words", "stdout", "stderr"), map(str.encode, said), strict=True)
        return dict(named) | files_of(self.public)

    def leaks(self, forgiving=True):
        """What of the private table is in sight, a line each.

        Args:
            forgiving: Whether counts that noise happened to hit are left out.
        """
        unkeyed = digests(self.private / "table.csv") | digests(self.private / "table.parquet")
        return leaks(self.evidence(), self._pieces | unkeyed, self.witness, forgiving)


def _read(terminal, shown):
    with contextlib.suppress(OSError):  # The other side is closed.
        while content := os.read(terminal, 4096):
            shown.append(content)
