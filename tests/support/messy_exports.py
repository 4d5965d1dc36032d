# ruff: noqa: PERF401 (rows read better one after the other)
"""Messy exports as people have them, each with the types that its columns have.

Every export is generated from a seed. `kinds` are the right types, `drop` among them; a type may
be one of several where both are right. `edits` are changes of the drafted schema file as a person
would make them: a text, and what stands there afterwards.
"""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import io
import json
import lzma
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROWS = 300
DROP, CAT, INT, FLOAT = "drop", "categorical", "integer", "float"
DATE, MOMENT, BOOL = "date", "datetime", "boolean"


@dataclass(frozen=True)
class MessyExport:
    """An export: the name of its file, its bytes, and what is right about it."""

    file: str
    content: bytes
    kinds: dict[str, str | tuple[str, ...]]
    layout: dict[str, object] = field(default_factory=dict)
    edits: tuple[tuple[str, str], ...] = ()
    words: tuple[str, ...] = ()
    unit: str | None = None
    formats: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Write the file into a folder."""
        path = folder / self.file
        path.write_bytes(self.content)
        return path


def day(rng: random.Random, first: int = 2023, days: int = 700) -> dt.date:
    return dt.date(first, 1, 1) + dt.timedelta(rng.randrange(days))


def german(number: float, digits: int = 2) -> str:
    return f"{number:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def join(rows: list[list[str]], mark: str = ",", end: str = "\n") -> str:
    def quote(cell: str) -> str:
        special = mark in cell or '"' in cell or "\n" in cell
        return '"' + cell.replace('"', '""') + '"' if special else cell

    return "".join(mark.join(map(quote, row)) + end for row in rows)


NAMES = ("Anna", "Jörg", "Eva", "Karl", "Ines", "Olaf", "Rosa", "Zoë", "Max", "Lena", "Uwe", "Ada")
FAMILIES = ("Müller", "Weiß", "Schäfer", "Groß", "Krüger", "Böhm", "Öztürk", "Lang", "Kern", "Ott")


def german_hospital() -> MessyExport:
    rng = random.Random(1)
    rows = [
        [
            "Patient_ID",
            "Name",
            "Geburtsdatum",
            "Aufnahme",
            "Entlassung",
            "PLZ",
            "Kosten",
            "Raucher",
            "Alter",
            "Station",
            "Schmerz",
            "Befund",
        ]
    ]
    for _ in range(ROWS):
        start = day(rng)
        rows.append(
            [
                f"P{rng.randrange(120):05d}",
                f"{rng.choice(FAMILIES)}, {rng.choice(NAMES)} {chr(65 + rng.randrange(26))}.",
                day(rng, 1940, 25000).strftime("%d.%m.%Y"),
                start.strftime("%d.%m.%Y"),
                (start + dt.timedelta(rng.randrange(15))).strftime("%m/%d/%Y"),
                rng.choice(["01067", "04109", "80331", "10115", "20095"]),
                german(rng.lognormvariate(7.5, 1)) + " EUR",
                rng.choice(["ja", "nein"]),
                "unbekannt" if rng.random() < 0.05 else str(rng.randrange(18, 99)),
                rng.choice(["Chirurgie", "Innere", "Kardiologie"]),
                rng.choice(["keine", "leicht", "mittel", "schwer"]),
                f"Patient berichtet über Beschwerden seit {rng.random():.5f} Tagen, Verlauf offen",
            ]
        )
    kinds = dict(
        zip(
            rows[0],
            [DROP, DROP, DATE, DATE, DATE, CAT, FLOAT, CAT, INT, CAT, CAT, DROP],
            strict=True,
        )
    )
    return MessyExport(
        "klinik.csv",
        join(rows, ";", "\r\n").encode("cp1252"),
        kinds,
        {"delimiter": ";", "encoding": "windows-1252", "decimal": ",", "thousands": "."},
        edits=(("max: 98", "max: 120"),),
        unit="Patient_ID",
        formats={"Kosten": "1.234,56 EUR", "Entlassung": "%m/%d/%Y", "Aufnahme": "%d.%m.%Y"},
    )


def us_clinic() -> MessyExport:
    rng = random.Random(2)
    rows = [["MRN", "first_name", "DOB", "State", "ZIP", "Charges", "Insured", "BMI", "Visit Time"]]
    for index in range(ROWS):
        rows.append(
            [
                str(700000 + index),
                rng.choice(["Jim", "Ann", "Bob"]) + str(index),
                day(rng, 1950, 20000).strftime("%m/%d/%Y"),
                rng.choice(["NY", "CA", "TX", "WA", "OH"]),
                rng.choice(["02139", "10001", "94103", "60601"]),
                f"${rng.lognormvariate(6, 1.3):,.2f}",
                rng.choice(["Y", "N"]),
                "N/A" if rng.random() < 0.1 else f"{rng.uniform(17, 45):.1f}",
                dt.datetime.combine(
                    day(rng), dt.time(rng.randrange(24), rng.randrange(60))
                ).strftime("%m/%d/%Y %I:%M %p"),
            ]
        )
    kinds = dict(zip(rows[0], [DROP, DROP, DATE, CAT, CAT, FLOAT, CAT, FLOAT, MOMENT], strict=True))
    return MessyExport(
        "visits.csv", join(rows).encode("utf-8-sig"), kinds, {}, formats={"Charges": "$1,234.56"}
    )


def french_survey() -> MessyExport:
    rng = random.Random(3)
    rows = [["Département", "Sexe", "Fumeur", "Revenu", "Satisfaction", "Date", "Taux"]]
    for _ in range(ROWS):
        rows.append(
            [
                rng.choice(["01", "13", "2A", "75", "69"]),
                rng.choice(["Homme", "Femme"]),
                rng.choice(["oui", "non"]),
                f"{int(rng.lognormvariate(10, 0.5)):,}".replace(",", " ") + " €",
                rng.choice(["faible", "moyen", "élevé"]),
                day(rng).strftime("%d/%m/%Y"),
                f"{rng.uniform(0, 100):.1f}".replace(".", ",") + " %",
            ]
        )
    kinds = dict(zip(rows[0], [CAT, CAT, CAT, INT, CAT, DATE, FLOAT], strict=True))
    return MessyExport(
        "enquete.csv",
        join(rows, ";").encode("cp1252"),
        kinds,
        {"delimiter": ";", "encoding": "windows-1252"},
        formats={"Date": "%d/%m/%Y"},
    )


def japanese_shop() -> MessyExport:
    rng = random.Random(4)
    rows = [["会員番号", "都道府県", "購入日", "金額", "会員", "数量"]]
    for index in range(ROWS):
        when = day(rng)
        rows.append(
            [
                f"A{index:06d}",
                rng.choice(["東京都", "大阪府", "北海道", "福岡県"]),
                f"{when:%Y}年{when:%m}月{when:%d}日",
                f"{int(rng.lognormvariate(8, 1)):,}円",
                rng.choice(["はい", "いいえ"]),
                str(rng.randrange(1, 20)),
            ]
        )
    kinds = dict(zip(rows[0], [DROP, CAT, DATE, INT, CAT, INT], strict=True))
    return MessyExport(
        "shop.csv",
        join(rows).encode("cp932"),
        kinds,
        {"encoding": "cp932"},
        formats={"購入日": "%Y年%m月%d日"},
    )


def survey_with_codes() -> MessyExport:
    rng = random.Random(5)
    rows = [
        ["respondent_id", "q1", "q2_agree", "age_band", "region", "employed", "children", "weight"]
    ]
    for index in range(ROWS):
        rows.append(
            [
                str(index + 1),
                str(rng.randrange(1, 6)),
                rng.choice(["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]),
                rng.choice(["18-24", "25-34", "35-49", "50-64", "65+"]),
                f"{rng.randrange(1, 17):02d}",
                rng.choice("01"),
                str(rng.randrange(5)),
                f"{rng.uniform(0.2, 3):.4f}",
            ]
        )
    kinds = dict(
        zip(rows[0], [DROP, (INT, CAT), CAT, CAT, CAT, CAT, (INT, CAT), FLOAT], strict=True)
    )
    return MessyExport("survey.tsv", join(rows, "\t").encode(), kinds)


def web_log() -> MessyExport:
    rng = random.Random(6)
    rows = [["time", "ip", "method", "path", "status", "bytes", "user_agent", "ms"]]
    for index in range(ROWS):
        moment = dt.datetime(2024, 5, 1) + dt.timedelta(seconds=rng.randrange(10**6))
        rows.append(
            [
                moment.strftime("%Y-%m-%dT%H:%M:%S"),
                f"10.{rng.randrange(256)}.{rng.randrange(256)}.{index % 256}",
                rng.choice(["GET", "POST"]),
                rng.choice(["/", "/cart", "/help"]),
                rng.choice(["200", "404", "500"]),
                str(int(rng.lognormvariate(7, 2))),
                f"Browser/{index} (X; build {rng.random()}) like something else entirely",
                f"{rng.lognormvariate(3, 1):.2f}",
            ]
        )
    text = "# server A\n# made by hand\n" + join(rows, "|")
    kinds = dict(zip(rows[0], [MOMENT, DROP, CAT, CAT, (INT, CAT), INT, DROP, FLOAT], strict=True))
    return MessyExport("access.txt", text.encode(), kinds, {"delimiter": "|", "comment": "#"})


def bank_ledger() -> MessyExport:
    rng = random.Random(7)
    rows = [["Buchungstag", "IBAN", "Betrag", "Währung", "Verwendungszweck", "Kategorie"]]
    for _ in range(ROWS):
        amount = german(rng.lognormvariate(5, 1.5))
        rows.append(
            [
                day(rng).strftime("%d.%m.%y"),
                f"DE{rng.randrange(10**18, 10**19)}",
                amount + rng.choice(["-", ""]),
                "EUR",
                f"Rechnung {rng.random():.6f} vom letzten Monat, vielen Dank; bis bald",
                rng.choice(["Miete", "Essen", "Gehalt", "Sonstiges"]),
            ]
        )
    head = "Kontoauszug der Bank\nErstellt am 01.02.2024\n\n"
    kinds = dict(zip(rows[0], [DATE, DROP, FLOAT, CAT, DROP, CAT], strict=True))
    return MessyExport(
        "umsatz.csv",
        (head + join(rows, ";")).encode("cp1252"),
        kinds,
        {"delimiter": ";", "encoding": "windows-1252", "decimal": ",", "skip": 3},
        formats={"Buchungstag": "%d.%m.%y"},
    )


def lab_values() -> MessyExport:
    rng = random.Random(8)
    rows = [["sample", "analyte", "value", "unit", "flag", "taken", "ratio"]]
    for index in range(ROWS):
        rows.append(
            [
                f"S-{index:05d}",
                rng.choice(["Na", "K", "Glucose"]),
                "-" if rng.random() < 0.08 else f"{rng.uniform(1, 150):.1f} mmol/l",
                "mmol/l",
                rng.choice(["low", "normal", "high"]),
                dt.datetime.combine(day(rng), dt.time(rng.randrange(24))).strftime(
                    "%d.%m.%Y %H:%M"
                ),
                f"{rng.uniform(1e-6, 1e-3):.3e}",
            ]
        )
    kinds = dict(zip(rows[0], [DROP, CAT, FLOAT, CAT, CAT, MOMENT, FLOAT], strict=True))
    return MessyExport("lab.csv.gz", gzip.compress(join(rows).encode()), kinds)


def wide_unicode() -> MessyExport:
    rng = random.Random(9)
    rows = [["id", "country", "language", "joined", "active", "score"]]
    for index in range(ROWS):
        rows.append(
            [
                str(1000 + index),
                rng.choice(["DE", "FR", "NA", "BR", "JP"]),
                rng.choice(["de", "fr", "en", "pt", "ja"]),
                day(rng).isoformat(),
                rng.choice(["TRUE", "FALSE"]),
                f"{rng.gauss(0, 10):.2f}",
            ]
        )
    kinds = dict(zip(rows[0], [DROP, CAT, CAT, DATE, BOOL, FLOAT], strict=True))
    return MessyExport(
        "members.csv",
        join(rows, "\t").encode("utf-16"),
        kinds,
        {"delimiter": "\t", "encoding": "utf-16"},
    )


def excel_sheet() -> MessyExport:
    import openpyxl

    rng = random.Random(10)
    book = openpyxl.Workbook()
    sheet = book.active
    names = ["employee id", "department", "hired", "salary", "bonus", "part time", "e-mail"]
    sheet.append(names)
    for index in range(ROWS):
        sheet.append(
            [
                4000 + index,
                rng.choice(["sales", "IT", "law"]),
                dt.datetime.combine(day(rng, 2010, 5000), dt.time()),
                round(rng.lognormvariate(10.5, 0.3), 2),
                rng.choice([None, f"{rng.randrange(9)},5", rng.randrange(9)]),
                rng.random() < 0.3,
                f"e{index}@example.com",
            ]
        )
    file = io.BytesIO()
    book.save(file)
    kinds = dict(zip(names, [DROP, CAT, DATE, FLOAT, FLOAT, BOOL, DROP], strict=True))
    return MessyExport("staff.xlsx", file.getvalue(), kinds, formats={"bonus": "1234,5"})


def json_lines() -> MessyExport:
    rng = random.Random(11)
    entries = []
    for index in range(ROWS):
        entry: dict[str, object] = {
            "uuid": f"{rng.randrange(16**8):08x}-0000-4000-8000-{index:012x}",
            "event": rng.choice(["open", "close"]),
            "at": f"{day(rng).isoformat()}T{rng.randrange(24):02d}:15:00",
            "value": rng.randrange(1000),
            "tags": ["a", "b"],
        }
        if rng.random() < 0.5:
            entry["ok"] = rng.random() < 0.5
        entries.append(json.dumps(entry))
    kinds = {"uuid": DROP, "event": CAT, "at": MOMENT, "value": INT, "ok": BOOL, "tags": DROP}
    return MessyExport("events.jsonl", "\n".join(entries).encode(), kinds)


def school_marks() -> MessyExport:
    rng = random.Random(12)
    rows = [["Student Name", "Phone", "Grade", "Size", "Born", "Remarks", "Constant"]]
    for index in range(ROWS):
        rows.append(
            [
                f"{rng.choice(NAMES)} {rng.choice(FAMILIES)}",
                f"+44 20 7946 {rng.randrange(10**4):04d}{index % 10}",
                rng.choice(["A", "B", "C", "D"]),
                rng.choice(["S", "M", "L", "XL"]),
                day(rng, 2005, 2000).strftime("%d %b %Y"),
                f'has a "good" year, {rng.random():.4f}\nand likes maths, music and much more',
                "2024",
            ]
        )
    kinds = dict(zip(rows[0], [DROP, DROP, CAT, CAT, DATE, DROP, (INT, CAT)], strict=True))
    return MessyExport("marks.csv.zip", _zip("marks.csv", join(rows, ",", "\r\n").encode()), kinds)


def sensor_data() -> MessyExport:
    rng = random.Random(13)
    rows = [["ts", "sensor", "temp", "humidity", "error", "count"]]
    start = dt.datetime(2024, 1, 1)
    for index in range(ROWS):
        rows.append(
            [
                (start + dt.timedelta(minutes=7 * index)).strftime("%Y/%m/%d %H:%M:%S"),
                f"T{rng.randrange(1, 9)}",
                f"{rng.gauss(20, 5):.3f}",
                f"{rng.uniform(20, 90):.0f}%",
                rng.choice(["0", "1"]),
                str(rng.randrange(10**6)),
            ]
        )
    rows[17][2] = "overflow"  # one stray cell
    kinds = dict(zip(rows[0], [MOMENT, CAT, FLOAT, INT, CAT, INT], strict=True))
    return MessyExport("sensors.csv.xz", lzma.compress(join(rows).encode()), kinds)


def swiss_insurance() -> MessyExport:
    rng = random.Random(14)
    rows = [["Kundennummer", "Kanton", "Prämie", "Schaden", "Beginn", "Stufe"]]
    for _ in range(ROWS):
        rows.append(
            [
                str(50000 + rng.randrange(100)),
                rng.choice(["ZH", "BE", "GE"]),
                "CHF " + f"{rng.uniform(500, 9000):,.2f}".replace(",", "'"),
                rng.choice(
                    ["keine Angabe", f"{rng.lognormvariate(7, 1.5):,.2f}".replace(",", "'")]
                ),
                day(rng).strftime("%d-%m-%Y"),
                rng.choice(["gering", "mittel", "hoch"]),
            ]
        )
    kinds = dict(zip(rows[0], [DROP, CAT, FLOAT, FLOAT, DATE, CAT], strict=True))
    return MessyExport(
        "policen.csv.bz2",
        bz2.compress(join(rows, ";").encode()),
        kinds,
        {"delimiter": ";"},
        unit="Kundennummer",
        formats={"Prämie": "CHF 1'234.56"},
    )


def wide_codes() -> MessyExport:
    rng = random.Random(15)
    rows = [["case_id", "icd", "days", "outcome"]]
    codes = [f"{letter}{number:02d}" for letter in "ABCDEFGH" for number in range(30)]
    for index in range(5 * ROWS):
        code = codes[int(min(rng.expovariate(1 / 60), 239))]
        rows.append([f"c{index:05d}", code, str(rng.randrange(30)), rng.choice(["home", "died"])])
    rows[1:1] = [["c99999", code, "1", "home"] for code in codes]
    for index, row in enumerate(rows[1:]):
        row[0] = f"c{index:05d}"
    kinds = dict(zip(rows[0], [DROP, CAT, INT, CAT], strict=True))
    return MessyExport(
        "cases.csv",
        join(rows).encode(),
        kinds,
        words=("--private-schema", "--schema-budget", "0.3"),
    )


def old_mac() -> MessyExport:
    rng = random.Random(16)
    rows = [["plot", "species", "height", "planted", "alive"]]
    for _ in range(ROWS):
        rows.append(
            [
                rng.choice("ABC"),
                rng.choice(["oak", "elm", "ash, white"]),
                f"{rng.uniform(0.1, 30):.2f} m",
                day(rng, 1990, 9000).strftime("%B %d, %Y"),
                rng.choice(["yes", "no", "?"]),
            ]
        )
    kinds = dict(zip(rows[0], [CAT, CAT, FLOAT, DATE, CAT], strict=True))
    return MessyExport("trees.csv", join(rows, ",", "\r").encode(), kinds)


MONTHS = ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic"]


def spanish_hospital() -> MessyExport:
    rng = random.Random(17)
    rows = [
        [
            "Nº episodio",
            "NHC",
            "Apellidos",
            "Móvil",
            "Fecha nac.",
            "Ingreso",
            "Alta",
            "C.P.",
            "Edad",
            "Fumador",
            "Dolor",
            "Peso (kg)",
            "Coste",
            "SatO2",
            "Observaciones",
        ]
    ]
    persons = [
        [
            str(40_000_000 + 7 * number),
            f"{rng.choice(['García', 'Muñoz', 'Ibáñez'])} {rng.choice(['Gil', 'Peña'])}",
            f"6{rng.randrange(10**7, 10**8)}",
            day(rng, 1940, 25000),
        ]
        for number in range(ROWS // 3)
    ]
    for number in range(ROWS):
        key, name, phone, born = rng.choice(persons)
        start = day(rng)
        rows.append(
            [
                f"E{2_022_000_000 + number}",
                key,
                name,
                phone,
                f"{born.day:02d}-{MONTHS[born.month - 1]}-{born.year}",
                f"{start:%d/%m/%Y} {rng.randrange(24):02d}:30",
                f"{start + dt.timedelta(rng.randrange(1, 15)):%Y%m%d}",
                rng.choice(["08001", "28013", "41004", "01005"]),
                "desconocida" if rng.random() < 0.05 else str(rng.randrange(18, 99)),
                "s/d" if rng.random() < 0.05 else rng.choice(["sí", "no"]),
                rng.choice(["nulo", "leve", "moderado", "intenso"]),
                "" if rng.random() < 0.05 else german(rng.gauss(74, 13), 1),
                "€ " + german(rng.lognormvariate(7, 1)),
                german(rng.uniform(85, 100), 1) + "%",
                f'Refiere "dolor" desde hace {rng.random():.4f} días; control\ny seguimiento',
            ]
        )
    kinds = dict(
        zip(
            rows[0],
            [*[DROP] * 4, DATE, MOMENT, DATE, CAT, INT, CAT, CAT, *[FLOAT] * 3, DROP],
            strict=True,
        )
    )
    return MessyExport(
        "episodios.csv",
        join(rows, ";", "\r\n").encode("cp1252"),
        kinds,
        {"delimiter": ";", "encoding": "windows-1252", "decimal": ",", "thousands": "."},
        unit="NHC",
        formats={"Fecha nac.": "%d-%b-%Y (es)", "Alta": "%Y%m%d", "Coste": "€1.234,56"},
    )


def polish_clinic() -> MessyExport:
    rng = random.Random(18)
    rows = [
        [
            "PESEL",
            "Imię i nazwisko",
            "Data przyjęcia",
            "Płeć",
            "Kod pocztowy",
            "Wiek",
            "Oddział",
            "Palacz",
            "Koszt",
            "Waga",
            "Wzrost",
            "Gorączka",
            "Uwagi",
        ]
    ]
    for number in range(ROWS):
        rows.append(
            [
                str(10**10 + 93_841_077 * (number + 1)),
                f"{rng.choice(['Łukasz', 'Żaneta'])} {rng.choice(['Źrebiec', 'Wąs', 'Nowak'])}",
                day(rng).strftime("%Y.%m.%d"),
                rng.choice("KM"),
                rng.choice(["00-950", "30-001", "80-100"]),
                "brak danych" if rng.random() < 0.05 else str(rng.randrange(18, 99)),
                rng.choice(["chirurgia", "położnictwo"]),
                rng.choice(["tak", "nie"]),
                f"{rng.lognormvariate(7, 1):,.2f}".translate(str.maketrans(",.", " ,")) + " zł",
                german(rng.gauss(75, 12), 1),
                f"{rng.randrange(150, 200)} cm",
                german(rng.uniform(35.5, 40), 1) + " °C",
                f"Chory zgłasza ból od {rng.random():.3f} dni, dalsza obserwacja",
            ]
        )
    kinds = dict(
        zip(
            rows[0],
            [DROP, DROP, DATE, CAT, CAT, INT, CAT, CAT, FLOAT, FLOAT, INT, FLOAT, DROP],
            strict=True,
        )
    )
    return MessyExport(
        "pacjenci.txt",
        ("# eksport\n" + join(rows, "\t")).encode("cp1250"),
        kinds,
        {"delimiter": "\t", "encoding": "windows-1250", "decimal": ",", "comment": "#"},
        formats={"Koszt": "1 234,56 zł", "Wzrost": "1234 cm"},
    )


def _zip(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


EXPORTS: tuple[Callable[[], MessyExport], ...] = (
    german_hospital,
    us_clinic,
    french_survey,
    japanese_shop,
    survey_with_codes,
    web_log,
    bank_ledger,
    lab_values,
    wide_unicode,
    excel_sheet,
    json_lines,
    school_marks,
    sensor_data,
    swiss_insurance,
    wide_codes,
    old_mac,
    spanish_hospital,
    polish_clinic,
)
