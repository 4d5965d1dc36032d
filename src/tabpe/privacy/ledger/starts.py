"""How far a run in a folder has got: what keeps one charge from paying for two draws of noise.

A run that goes on after a crash keeps its entry, because measurements that are on the disk are used
again and not made again. That is only true of the folder that holds them. An old copy of it would
measure the same things under fresh noise, and one charge would cover both. So the ledger remembers
which start of a run was the last, and which measurements it has made.

**Protocol.** The folder has a log. A measurement is named by its number and by the digest of all
measurements up to it (`tabpe.privacy.transcript`).

1. A process that begins or goes on with a run draws a random token, and puts it into the log of the
   folder. When it is on the disk, the ledger gets the event `started`: the token, and number and
   digest of the measurements in the folder. It refuses if the token of the last start is not in the
   log, or the folder lacks a measurement that the ledger knows, or holds another in its place.
2. Before each measurement the process asks the ledger whether its start is still the last.
3. A measurement is in the folder, on the disk, before the ledger gets the event `measured`, and
   that is there before anything is made of the measurement. The ledger refuses if the start is not
   the last any more.
4. The entry is spent by the last start alone, with a certificate that has the digest of all
   measurements.

**A crash in the same folder never locks a run out.** Whenever it happens, the token of the last
`started` is in the log, because it was put there first (1). And the folder holds every measurement
that the ledger knows, because each was put there first (3); it may hold one more, which the next
start tells the ledger. So all checks of (1) hold. A token that never got to the ledger is of no
harm in the log.

**Of several copies one goes on.** A start puts a new token into the ledger that is in one log only.
All other copies, made before it, lack that token: they are refused when they start (1), before they
measure (2), and when they end (4). A copy made after it is refused in the same way as soon as the
other of the two starts again. A folder that was wiped, or an old state that was put back, lacks a
token or a measurement (1).

**What remains.** A measurement that is being made while another copy starts is refused when it is
done (3), and was seen by nobody. Someone who stops the process in the moment between the file of a
measurement and its event, reads the file and deletes it, gets that one measurement a second time;
the ledger shows the starts that it took. Someone who may change the ledger can do anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from tabpe.errors import BudgetError
from tabpe.privacy.ledger.entries import Progress

_THEN = "Nothing is read: begin in a new folder, which is a new charge."


@dataclass(frozen=True)
class Start:
    """A start of a run in a folder.

    Args:
        token: A random name of this start.
        earlier: The tokens in the log of the folder before it.
        digests: The digest of the first measurements in the folder: of none, of one, and so on.
    """

    token: str
    earlier: tuple[str, ...]
    digests: tuple[str, ...]

    @property
    def progress(self) -> Progress:
        """What the ledger knows after this start."""
        return Progress(self.token, len(self.digests) - 1, self.digests[-1])

    def check(self, known: Progress | None) -> None:
        """Refuse to start where the ledger knows of more than the folder.

        Raises:
            BudgetError: If a copy of the folder went on, or it is not what it was.
        """
        if known is None:
            return
        if known.token not in self.earlier:
            raise superseded()
        if known.measurements >= len(self.digests):
            raise BudgetError(
                f"run_dir: the ledger knows of {known.measurements} measurements, and the folder "
                f"holds {len(self.digests) - 1}: it was wiped, or an old copy was put back. {_THEN}"
            )
        if self.digests[known.measurements] != known.sha256:
            raise BudgetError(
                f"run_dir: its measurements are not those that the ledger knows of. {_THEN}"
            )


def superseded() -> BudgetError:
    """Return the error for a folder whose copy was started after it."""
    return BudgetError(
        f"run_dir: the run went on in a copy of this folder, or an old state of the folder was put "
        f"back. One charge covers one release: go on in the other one. {_THEN}"
    )
