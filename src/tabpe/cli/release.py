"""The files of a release: a table with its certificate and sheets, or a whole folder.

Privacy: everything here follows from the released rows, the certificate, the schema in it and the
words of the custodian. Nothing reads the private table, and where it lies is not written down.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from tabpe._utils import files
from tabpe.accounting import Certificate, WrittenTable
from tabpe.accounting.pld import round_up
from tabpe.errors import OutputError
from tabpe.io.exporters import ReleasedFile, build_croissant, make_dictionary
from tabpe.io.writers import check_suffix, make_table_writer
from tabpe.schema import Schema
from tabpe.synthesizers.options import GUARANTEE, PUBLIC, SEARCH, DeclaredOption
from tabpe.verification.signing import SigningKey, get_signature_path

DEFAULT_NAME = "synthetic.csv"
REPORT, METADATA, DICTIONARY, SCHEMA, README = (
    "report.html",
    "croissant.json",
    "dictionary.csv",
    "schema.yaml",
    "README.txt",
)
_OWN = (REPORT, METADATA, DICTIONARY, SCHEMA, README)
_PUBLISHED_GROUPS = (GUARANTEE, PUBLIC, SEARCH)
_MEDIA = {".json": "application/json", ".html": "text/html", ".csv": "text/csv"}


@dataclass(frozen=True, eq=False)
class ReleaseContents:
    """What is released.

    Args:
        table: The synthetic rows.
        certificate: Their certificate, which names no file yet.
        schema: Their schema.
        history: What each round did.
        signer: The key to sign with; None to leave the certificate unsigned.
        escape_formulas: Whether text that a spreadsheet would run gets an apostrophe.
    """

    table: pa.Table
    certificate: Certificate
    schema: Schema
    history: Sequence[Mapping[str, Any]] = ()
    signer: SigningKey | None = None
    escape_formulas: bool = False


def certificate_path(output: Path) -> Path:
    """Return the path of the certificate of a table."""
    return output.with_name(f"{output.stem}.certificate.json")


def list_release_files(output: Path) -> list[Path]:
    """Return the table and all that belongs beside it; a signature only if it is signed.

    Example:
        >>> [path.suffix for path in list_release_files(Path("out.csv"))]
        ['.csv', '.json', '.html', '.txt', '.sig']
    """
    beside = certificate_path(output)
    sheets = [beside.with_suffix(suffix) for suffix in (".html", ".txt")]
    return [output, beside, *sheets, get_signature_path(beside)]


def resolve_output(output: Path | None, bundle: Path | None) -> Path:
    """Return where the table goes; with a folder, its name in it.

    Raises:
        OutputError: If there is no place for it, or it would lie outside of the folder.
    """
    if bundle is None:
        if output is None:
            raise OutputError("--output: required: name a .csv or .parquet file, or pass --bundle.")
        check_suffix(output)
        return output
    files.check_new_folder(bundle)
    name = Path(DEFAULT_NAME) if output is None else output
    check_suffix(name)
    if name != Path(name.name) or name.name in _OWN:
        raise OutputError(
            f"--output {name}: with --bundle it is the name of the table in that folder: expected "
            f"a name such as {DEFAULT_NAME}."
        )
    return name


def write_release(contents: ReleaseContents, output: Path) -> Certificate:
    """Write the table, its certificate, sheets and signature; return the certificate.

    The certificate gets its name first, so an interrupted run leaves one that it knows again. The
    signature of an earlier certificate of that name is removed.
    """
    from tabpe.evaluation.report.sheet import render_sheet

    made: list[Certificate] = []
    table = contents.table

    def report(sha256: str, size: int) -> None:
        file = WrittenTable(output.name, sha256, table.num_rows, size, contents.escape_formulas)
        made.append(contents.certificate.for_file(file))

    def fill_sheet(form: str, file: BinaryIO) -> None:
        signature = None if contents.signer is None else contents.signer.sign(made[0])
        file.write(render_sheet(made[0], form=form, signature=signature).encode())

    def fill_signature(signer: SigningKey, file: BinaryIO) -> None:
        file.write(signer.sign(made[0]).to_json().encode())

    def fill_certificate(file: BinaryIO) -> None:
        file.write(made[0].to_json().encode())

    rows = make_table_writer(table, output, escape_formulas=contents.escape_formulas)
    beside = certificate_path(output)
    fillers: dict[Path, Callable[[BinaryIO], None]] = {
        output: files.make_hashing_filler(rows, report),
        beside.with_suffix(".html"): partial(fill_sheet, "html"),
        beside.with_suffix(".txt"): partial(fill_sheet, "text"),
    }
    if contents.signer is None:
        get_signature_path(beside).unlink(missing_ok=True)
    else:
        fillers[get_signature_path(beside)] = partial(fill_signature, contents.signer)
    fillers[beside] = fill_certificate
    files.write_files(fillers)
    return made[0]


def write_bundle(
    contents: ReleaseContents,
    folder: Path,
    name: Path,
    command: str,
    more: Mapping[str, tuple[str, str]] | None = None,
) -> Certificate:
    """Write a release folder, which appears whole or not at all; return the certificate.

    Args:
        contents: What is released.
        folder: The new folder.
        name: The name of the table in it.
        command: The command that makes such a release.
        more: More files by name: what each is, and its text.
    """
    more = more or {}
    from tabpe.evaluation.report import evaluate_public

    with files.stage_folder(folder) as staged:
        output = staged / name
        certificate = write_release(contents, output)
        page = evaluate_public(
            output,
            certificate=certificate_path(output),
            history=contents.history,
            title=output.name,
            verbose=0,
        )
        files.write_text(staged / REPORT, page.to_html())
        dictionary = make_dictionary(contents.schema)
        listed = staged / DICTIONARY
        files.write_file(listed, make_table_writer(dictionary, listed, escape_formulas=True))
        contents.schema.save(staged / SCHEMA, comment="What the rows of this release can hold.")
        metadata = _describe_release(contents.schema, certificate, staged)
        text = json.dumps(metadata, indent=2, ensure_ascii=False)
        files.write_text(staged / METADATA, f"{text}\n")
        for extra, (_, content) in more.items():
            files.write_text(staged / extra, content)
        signed = contents.signer is not None
        listed_more = {extra: words for extra, (words, _) in more.items()}
        readme = _write_readme(certificate, command, listed_more, signed=signed)
        files.write_text(staged / README, readme)
    return certificate


def make_command(options: Sequence[DeclaredOption], chosen: Mapping[str, Any], **own: Any) -> str:
    """Return the command that makes such a release.

    Where the private table, the ledger and the key lie is left out, and so is what only the machine
    needs.

    Example:
        >>> make_command([], {}, schema="schema.yaml", private_schema=False, rows=40)
        'tabpe synth DATA --schema schema.yaml --rows 40'
    """
    given = [(f"--{name.replace('_', '-')}", value) for name, value in own.items()]
    given += [
        (one.option.flags[0], chosen.get(one.name))
        for one in options
        if one.option.flags
        and one.option.group in _PUBLISHED_GROUPS
        and chosen.get(one.name) != one.plain_default
    ]
    words = ["tabpe", "synth", "DATA"]
    for flag, value in given:
        values = value if isinstance(value, (list, tuple)) else [value]
        for single in values:
            if single is True:
                words.append(flag)
            elif single is not None and single is not False:
                words += [flag, str(single)]
    return shlex.join(words)


def _describe_release(schema: Schema, certificate: Certificate, folder: Path) -> dict[str, Any]:
    release, statement = certificate.release, certificate.statement
    if release is None:
        raise OutputError(f"{folder}: the certificate names no table.")
    others = {
        path.name: (_MEDIA[path.suffix], hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.iterdir())
        if path.suffix in _MEDIA and path.name != release.file
    }
    return build_croissant(
        schema,
        ReleasedFile(release.file, release.sha256, release.size_bytes, release.formulas_escaped),
        description=_describe_data(certificate),
        published=certificate.created[:10],
        creator=None if statement is None else statement.contact,
        others=others,
    )


def _describe_data(certificate: Certificate) -> str:
    statement = certificate.statement
    purpose = None if statement is None or statement.purpose is None else statement.purpose
    epsilon, delta = round_up(certificate.epsilon, 4), round_up(certificate.delta, 3)
    words = (
        f"Synthetic rows, made by tabpe under ({epsilon:g}, {delta:g})-differential privacy "
        f"({certificate.neighbours.meaning}). No row is that of a person."
    )
    return words if purpose is None else f"{words} Purpose: {purpose}"


def _write_readme(
    certificate: Certificate, command: str, more: Mapping[str, str], *, signed: bool
) -> str:
    table = Path("" if certificate.release is None else certificate.release.file)
    beside = certificate_path(table).stem
    listed = {
        table.name: "the synthetic rows",
        f"{beside}.html": "what is guaranteed: a sheet to read, print and sign",
        f"{beside}.txt": "the same as text",
        f"{beside}.json": "the certificate, for programs",
        **({f"{beside}.sig": "the signature of the certificate"} if signed else {}),
        REPORT: "the rows in pictures; it reads nothing but them",
        DICTIONARY: "the columns and their values",
        SCHEMA: "the same for tabpe",
        METADATA: "metadata for data catalogues (Croissant 1.1)",
        **more,
    }
    width = max(map(len, listed))
    key = " --key PUBLIC_KEY" if signed else ""
    return "\n".join(
        [
            "A synthetic table under differential privacy.",
            "",
            *(f"{name:<{width}}  {words}" for name, words in listed.items()),
            "",
            "Check that the certificate holds and names these rows:",
            f"    tabpe verify {shlex.quote(f'{beside}.json')} {shlex.quote(table.name)}{key}",
            "",
            "Made by this command. DATA is the private table. Where it lies is left out, and so",
            "are options of the ledger, the key and the machine.",
            f"    {command}",
            "",
        ]
    )
