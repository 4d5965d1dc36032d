"""The sheet of a certificate: one page to sign, and a technical page, for an ethics board.

Every sentence follows from the certificate, which a signature covers. `CertificateSheet` chooses
and shortens the sentences; the page and the text show the same ones. All that a sheet leaves out is
in the JSON of the certificate.

Lengths are limited so that each page fits on one side of A4 or letter paper, whatever names the
columns have.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from tabpe._utils import validation
from tabpe.accounting import Certificate
from tabpe.accounting.pld import round_up
from tabpe.errors import ParameterError
from tabpe.evaluation.report.guarantee import AttackerBound, describe_total
from tabpe.evaluation.report.html import build_environment, hash_source, read_asset
from tabpe.evaluation.report.text import (
    LONGEST_NAME,
    clean_text,
    format_rounded_up,
    quote_name,
    shorten_text,
)
from tabpe.verification.signing import CertificateSignature

FORMS = ("html", "text")
SIGNERS = ("Data custodian", "Data protection", "Ethics board")
NOT_STATED = "not stated"
_LONGEST, _LONGEST_LIST = 200, 180
_MOST_FACTS, _MOST_SPENDS, _MOST_NOTES, _MOST_CAVEATS = 3, 10, 3, 7
# Sizes of letters, the largest first: characters in a line, and lines on a page with its table.
_SIZES = {"": (84, 36), "small": (98, 42), "tiny": (118, 54)}
_WIDE, _CAPITAL = 2.1, 1.45  # how wide a letter is, in characters of usual text
_WIDTH, _INDENT, _LONGEST_SPEND = 78, 4, 36


@dataclass(frozen=True)
class SheetItem:
    """A heading of the sheet, and the sentences below it.

    Args:
        title: The heading.
        sentences: What is said.
    """

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CertificateSheet:
    """What the sheet of a certificate says.

    Args:
        certificate: The certificate.
        signature: Its signature; None if nobody signed.
    """

    certificate: Certificate
    signature: CertificateSignature | None = None

    def __post_init__(self) -> None:
        signature = self.signature
        if signature is not None and not signature.covers(self.certificate.to_dict()):
            raise ParameterError(
                "signature: is not that of this certificate: sign the certificate again."
            )

    @property
    def title(self) -> str:
        """The name of the released table."""
        release = self.certificate.release
        return "No table yet" if release is None else shorten_text(release.file, LONGEST_NAME)

    @property
    def epsilon(self) -> str:
        """The epsilon, rounded up."""
        return format_rounded_up(self.certificate.epsilon)

    @property
    def delta(self) -> str:
        """The delta, rounded up."""
        return format_rounded_up(self.certificate.delta, 3)

    @property
    def warning(self) -> str | None:
        """What a reader must see first, if anything."""
        if not self.certificate.private:
            return (
                "NOT PRIVATE. The noise was fake, for tests. Nothing is guaranteed: do not release."
            )
        fields = self.certificate.fields_from_data
        if fields:
            return (
                f"The guarantee does not cover {_join(fields)}: "
                f"read from the private data and shown as they are."
            )
        return None

    @cached_property
    def first_page(self) -> tuple[SheetItem, ...]:
        """What an ethics board reads."""
        guarantee = self.certificate.guarantee
        return (
            SheetItem("Purpose", (self._purpose,)),
            SheetItem("Data set", tuple(self._describe_dataset())),
            SheetItem("What is guaranteed", tuple(self._describe_guarantee())),
            SheetItem("Whom it protects", (self._protected,)),
            SheetItem("Declared public", tuple(self._describe_public())),
            SheetItem("Estimated privately", (self._estimated,)),
            SheetItem("Spent so far", (self._total,)),
            SheetItem("What is not guaranteed", _limit(guarantee.not_guaranteed, _MOST_CAVEATS)),
            SheetItem("How to verify", tuple(self._describe_verification())),
        )

    @cached_property
    def second_page(self) -> tuple[SheetItem, ...]:
        """What an expert checks."""
        certificate = self.certificate
        return (
            SheetItem("Neighboring tables", (self._relation,)),
            SheetItem("Delta", tuple(self._describe_delta())),
            SheetItem(
                "Accountant",
                (
                    shorten_text(certificate.accountant, 2 * _LONGEST),
                    shorten_text(certificate.noise, _LONGEST),
                ),
            ),
            SheetItem("Randomness", _limit((certificate.seed_policy,), 1)),
            SheetItem("Settings", (_describe_mapping(certificate.configuration),)),
            SheetItem("Notes", _limit(certificate.notes, _MOST_NOTES) or ("none",)),
            SheetItem("Schema", tuple(self._describe_schema())),
            SheetItem("Digests (SHA-256)", tuple(self._list_digests())),
            SheetItem("Signature", (self._signer,)),
            SheetItem("Software", (_describe_mapping(certificate.versions),)),
        )

    def choose_size(self, items: Sequence[SheetItem]) -> str:
        """Return the style of the largest letters with which a page fits on one side."""
        for style, (width, most) in _SIZES.items():
            sentences = [sentence for item in items for sentence in item.sentences]
            if sum(math.ceil(_measure_width(sentence) / width) for sentence in sentences) <= most:
                return style
        return style

    @property
    def spends(self) -> tuple[tuple[str, str, str, str], ...]:
        """Name, number, noise and share of each privacy spend; the largest, if there are many."""
        spends = self.certificate.spends
        chosen = spends
        if len(spends) > _MOST_SPENDS:
            chosen = tuple(sorted(spends, key=self.certificate.share, reverse=True)[:_MOST_SPENDS])
        rows = [
            (
                shorten_text(spend.name, _LONGEST_SPEND),
                f"{spend.times:,}",
                f"{spend.sigma:.5g}",
                f"{self.certificate.share(spend):.1%}",
            )
            for spend in chosen
        ]
        if len(chosen) < len(spends):
            rest = 1 - sum(self.certificate.share(spend) for spend in chosen)
            rows.append((f"{len(spends) - len(chosen):,} more, in the JSON", "", "", f"{rest:.1%}"))
        return tuple(rows)

    @property
    def _purpose(self) -> str:
        statement = self.certificate.statement
        purpose = None if statement is None else statement.purpose
        return f"{NOT_STATED} (--purpose)" if purpose is None else clean_text(purpose)

    @property
    def _contact(self) -> str | None:
        statement = self.certificate.statement
        contact = None if statement is None else statement.contact
        return None if contact is None else clean_text(contact)

    @property
    def _relation(self) -> str:
        relation, unit = self.certificate.neighbours, self.certificate.unit
        words = f"{relation.meaning}; {relation.adjacency.value}"
        if relation.is_user_level:
            words += (
                f"; a user is a value of {quote_name(unit)}, with {relation.max_rows} rows at most"
            )
        return words

    @property
    def _protected(self) -> str:
        relation = self.certificate.neighbours
        if relation.is_user_level:
            return (
                f"Persons: whoever has one value of {quote_name(self.certificate.unit)}, with all "
                f"their rows. At most {relation.max_rows:,} rows of each were used."
            )
        return (
            "Rows: each single row. A person with several rows is protected less, so this is "
            "protection of persons only if everybody has one row."
        )

    @property
    def _estimated(self) -> str:
        fields = self.certificate.estimated
        if not fields:
            return "Nothing about the columns. Counts of rows were measured with noise (page 2)."
        return f"With noise, as a part of the guarantee: {_join(fields)}."

    @property
    def _total(self) -> str:
        return describe_total(self.certificate) or (
            "Not known: no ledger is named here. Other releases of the same data add to what "
            "this one reveals."
        )

    @property
    def _signer(self) -> str:
        if self.signature is None:
            return "Nobody signed this certificate with a key."
        return f"Ed25519, by the key {self.signature.key.fingerprint}"

    def _describe_dataset(self) -> Iterator[str]:
        certificate = self.certificate
        name = NOT_STATED if certificate.ledger is None else quote_name(certificate.ledger.dataset)
        release = certificate.release
        size = "" if release is None else f", {release.rows:,} synthetic rows"
        columns = f"{len(self._list_columns()):,} columns"
        yield f"Data set: {name}. Released: {self.title}{size}, {columns}."
        yield f"Contact: {self._contact or f'{NOT_STATED} (--contact)'}"
        made = shorten_text(certificate.created[:16].replace("T", " "), LONGEST_NAME)
        yield f"Made on {made} UTC."

    def _describe_guarantee(self) -> Iterator[str]:
        if not self.certificate.private:
            yield "Nothing."
            return
        yield f"({self.epsilon}, {self.delta})-differential privacy (epsilon, delta)."
        yield AttackerBound.from_certificate(self.certificate).words
        yield from _limit(self.certificate.guarantee.guaranteed, 2)

    def _describe_public(self) -> Iterator[str]:
        who = self._contact or "whoever made this release"
        yield f"By {who}, who answers for it. No program can check it:"
        yield from _limit(self.certificate.assumed_public, _MOST_FACTS)
        declared = [name for name, source in self._list_columns() if source == "public"]
        if declared:
            yield f"Types, bounds and categories of {_join(declared)}."

    def _describe_verification(self) -> Iterator[str]:
        release = self.certificate.release
        if release is not None:
            yield f"The rows: SHA-256 {release.sha256}"
        yield "tabpe verify CERTIFICATE.json ROWS checks the sums anew, and that rows are these."
        if self.signature is None:
            yield "Not signed with a key: the signatures below are all there is."
        else:
            yield f"Signed with the key {self.signature.key.fingerprint}: add --key to check it."

    def _describe_delta(self) -> Iterator[str]:
        certificate = self.certificate
        yield shorten_text(certificate.delta_source, _LONGEST)
        if certificate.release_delta:
            yield (
                f"{round_up(certificate.release_delta, 3):g} of it is the probability of "
                f"releasing a value that one row or user alone holds"
            )
        if certificate.sampling_delta:
            yield f"{round_up(certificate.sampling_delta, 3):g} of it covers noise for users"
        yield f"requested: epsilon {certificate.requested_epsilon:g}"

    def _describe_schema(self) -> Iterator[str]:
        names = [name for name, _ in self._list_columns()]
        yield f"{len(names):,} columns: {_join(names)}"
        if self.certificate.strict:
            yield "strict: one cell that did not fit would have ended the run"

    def _list_columns(self) -> list[tuple[str, str]]:
        """Return the name and the source of each column; the schema of a file may be anything."""
        columns = self.certificate.schema.get("columns", ())
        found = [one for one in columns if isinstance(one, dict)] if _is_list(columns) else []
        return [(str(one.get("name", "?")), str(one.get("source", "?"))) for one in found]

    def _list_digests(self) -> Iterator[str]:
        certificate = self.certificate
        if certificate.release is not None:
            yield f"rows: {certificate.release.sha256}"
        yield f"schema: {certificate.schema_digest}"
        if certificate.measurements_sha256 is not None:
            yield f"measurements: {certificate.measurements_sha256}"
        yield f"certificate, as in the ledger: {certificate.digest}"
        if certificate.ledger is not None:
            yield f"ledger entry: {shorten_text(certificate.ledger.entry, LONGEST_NAME)}"


def render_sheet(
    certificate: Certificate, *, form: str = "html", signature: CertificateSignature | None = None
) -> str:
    """Return the sheet of a certificate: a page to print and sign, or the same as text.

    Args:
        certificate: The certificate.
        form: `html` or `text`.
        signature: Its signature, if it is signed with a key.

    Raises:
        ParameterError: If the signature is that of another certificate.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import Boolean, Schema, TabPE
        >>> table = pa.table({"ill": [False, True] * 50})
        >>> model = TabPE(delta=1e-6, random_state=0, verbose=0)
        >>> certificate = model.fit(table, Schema((Boolean("ill"),))).certificate
        >>> print(render_sheet(certificate, form="text").splitlines()[0])
        PRIVACY CERTIFICATE OF A SYNTHETIC TABLE
    """
    validation.check_one_of("form", form, FORMS)
    sheet = CertificateSheet(certificate, signature)
    return _render_html(sheet) if form == "html" else _render_text(sheet)


def _render_html(sheet: CertificateSheet) -> str:
    style = read_asset("sheet.css")
    policy = f"default-src 'none'; style-src '{hash_source(style)}'; base-uri 'none'"
    template = build_environment().get_template("sheet.html.j2")
    return template.render(
        sheet=sheet,
        signers=SIGNERS,
        policy=f"{policy}; form-action 'none'",
        style=Markup(style),  # noqa: S704
    )


def _render_text(sheet: CertificateSheet) -> str:
    lines = ["PRIVACY CERTIFICATE OF A SYNTHETIC TABLE", sheet.title]
    if sheet.warning is not None:
        lines += ["", *_wrap(sheet.warning, "!! ")]
    lines += ["", f"Status: {sheet.certificate.status}"]
    lines += _list_items(sheet.first_page)
    lines += ["", "SIGNATURES", ""]
    lines += [f"{' ' * _INDENT}{name + ':':<18} {'_' * 30}  date {'_' * 10}" for name in SIGNERS]
    lines += ["", "=" * _WIDTH, "TECHNICAL PAGE"]
    lines += ["", "PRIVACY SPENDS (name, times, sigma of the noise, share)"]
    lines += [
        f"{' ' * _INDENT}{name:<36} {times:>13} {sigma:>11} {share:>7}"
        for name, times, sigma, share in sheet.spends
    ]
    lines += _list_items(sheet.second_page)
    return "\n".join(lines) + "\n"


def _list_items(items: Sequence[SheetItem]) -> Iterator[str]:
    for item in items:
        yield from ("", item.title.upper())
        for sentence in item.sentences:
            yield from _wrap(sentence, " " * (_INDENT - 2) + "- ")


def _wrap(text: str, head: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head)) or [
        head
    ]


def _limit(sentences: Sequence[str], most: int) -> tuple[str, ...]:
    """Return the first sentences, each of a limited length."""
    shown = [shorten_text(sentence, _LONGEST) for sentence in sentences[:most]]
    rest = len(sentences) - len(shown)
    return (*shown, *([f"And {rest:,} more, in the JSON of the certificate."] if rest else []))


def _join(names: Sequence[str]) -> str:
    """Return as many names as fit, and the number of the others."""
    shown: list[str] = []
    for name in names:
        short = shorten_text(name, LONGEST_NAME // 2)
        if shown and len(", ".join([*shown, short])) > _LONGEST_LIST:
            break
        shown.append(short)
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def _measure_width(text: str) -> float:
    """Return about how wide a text is, in characters of usual text."""
    return sum(
        _WIDE
        if unicodedata.east_asian_width(letter) in "WF"
        else _CAPITAL
        if letter.isupper() or letter in "@%mw"
        else 1
        for letter in text
    )


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _describe_mapping(mapping: object) -> str:
    pairs = mapping.items() if isinstance(mapping, dict) else ()
    return shorten_text(", ".join(f"{name} {value}" for name, value in pairs), 2 * _LONGEST)
