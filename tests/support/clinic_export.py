"""The export of a clinic, as messy as they are: the story of `docs/how-to/messy-export.md`."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

_HEADER = (
    "Fall_ID;Patient_ID;Nachname;Vorname;E-Mail;Telefon;Geburtsdatum;Aufnahme;Entlassung;"
    "Geschlecht;PLZ;Land;Alter;ICD;Station;Raucher;Schmerz;Gewicht;Kosten;Anteil;Entlassart;Notiz"
)
FAMILIES = ("Müller", "Schmidt", "Weiß", "Krüger", "Böhm", "Lang", "Kern", "Ott", "Groß", "Schäfer")
FIRST = ("Anna", "Jörg", "Eva", "Karl", "Ines", "Olaf", "Rosa", "Max", "Lena", "Uwe", "Zoë", "Ada")


def write_clinic_export(path: Path, rows: int, seed: int = 0) -> None:
    """Write the visits of persons, several for each: semicolons, decimal commas, Windows-1252."""
    rng = random.Random(seed)
    persons = [_make_person(rng, number) for number in range(rows // 3)]
    codes = [f"{chr(65 + n // 40)}{n % 40:02d}.{n % 7}" for n in range(800)]
    visits = (_make_visit(rng, number, rng.choice(persons), codes) for number in range(rows))
    lines = [_HEADER, *map(";".join, visits)]
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode("cp1252"))


def _make_person(rng: random.Random, number: int) -> list[str]:
    born = dt.date(1930, 1, 1) + dt.timedelta(rng.randrange(33000))
    name = f"{rng.choice(FAMILIES)}{rng.choice(['', '-' + rng.choice(FAMILIES)])}"
    return [
        f"P{number:06d}",
        name,
        f"{rng.choice(FIRST)} {rng.choice(FIRST)}",
        f"person{number}@example.org",
        f"+49 30 {rng.randrange(10**6, 10**7)}",
        born.strftime("%d.%m.%Y"),
        rng.choice("mwd" if rng.random() < 0.02 else "mw"),
        rng.choice(["01067", "04109", "10115", "20095", "50667", "80331"]),
        rng.choices(["DE", "AT", "CH", "PL"], [90, 4, 3, 3])[0],
    ]


def _make_visit(rng: random.Random, number: int, person: list[str], codes: list[str]) -> list[str]:
    start = dt.date(2023, 1, 1) + dt.timedelta(rng.randrange(700))
    stay = int(rng.expovariate(0.2))
    pain = rng.choices(["keine", "leicht", "mittel", "schwer"], [4, 3, 2, 1])[0]
    cost = f"{rng.lognormvariate(7 + 0.1 * stay, 0.8):,.2f}".translate(str.maketrans(",.", ".,"))
    return [
        str(900000 + number),
        *person[:5],
        person[5],
        start.strftime("%d.%m.%Y"),
        (start + dt.timedelta(stay)).strftime("%m/%d/%Y"),
        *person[6:9],
        "unknown" if rng.random() < 0.03 else str(2024 - int(person[5][-4:])),
        codes[min(int(rng.expovariate(1 / 40)), 799) if rng.random() < 0.9 else rng.randrange(800)],
        rng.choice(["Chirurgie", "Innere", "Kardiologie", "Geburtshilfe"]),
        rng.choice(["ja", "nein"]),
        pain,
        f"{rng.gauss(78, 14):.1f}".replace(".", ","),
        f"{cost} EUR",
        f"{rng.randrange(101)} %",
        rng.choices(["regulär", "verlegt", "verstorben"], [90, 8, 2])[0],
        f"Verlauf {rng.random():.6f}: der Patient klagt seit Tagen über Schmerzen, Kontrolle folgt",
    ]
