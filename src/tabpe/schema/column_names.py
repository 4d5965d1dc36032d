"""What the name of a column says about its cells, in several languages.

Names of columns are public, so what follows from them costs nothing. They are a hint: a column of
codes may be called `note`, and free text may be called anything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from tabpe.errors import SchemaError

# Words of names, by what such columns hold. Each is a whole word of the name.
_WORDS = {
    "e-mail addresses": "email e_mail mail courriel correo emailaddress mailadresse epost",
    "phone numbers": "phone telephone telefon tel mobile handy fax telefono portable phonenumber "
    "movil celular telefone cellulare telefoon gsm tlf puhelin",
    "names of persons": "surname lastname firstname forename fullname givenname familyname vorname "
    "nachname nom prenom apellido apellidos nombre patientname customername nachnamen cognome "
    "nazwisko imie achternaam voornaam sobrenome fornavn etternavn efternavn fornamn efternamn "
    "jmeno prijmeni etunimi sukunimi",
    "addresses": "address street strasse adresse anschrift rue direccion calle indirizzo "
    "domicilio adres endereco ulica adresa osoite",
    "free text": "note notes comment comments remark remarks description text freetext free_text "
    "bemerkung bemerkungen kommentar freitext anmerkung anamnese notiz notizen remarque "
    "commentaire commentaires observaciones comentario comentarios uwagi opmerking opmerkingen "
    "osservazioni observacoes poznamka useragent user_agent url referrer referer",
    "ids": "id uuid guid ssn iban identifier patientid patient_no customerid caseid userid ip "
    "ip_address session sessionid pid mrn nhc pesel dni nif cpf cnpj bsn cpr nino personnummer "
    "codicefiscale",
}
_REASONS = {word: reason for reason, words in _WORDS.items() for word in words.split()}
_NAME_WORDS = {"name", "names", "nome", "naam", "navn", "namn"}
_OF_PERSONS = {
    "patient",
    "customer",
    "client",
    "person",
    "user",
    "employee",
    "full",
    "first",
    "last",
    "family",
    "given",
    "student",
    "member",
    "doctor",
    "physician",
    "contact",
    "kunde",
    "kunden",
    "mitarbeiter",
    "paciente",
    "paziente",
    "pacjent",
    "cliente",
    "klient",
}
# Beside these, a name is of a person; codes and numbers beside them need not be.
_NAMED = _OF_PERSONS | {
    "pt",
    "pat",
    "mother",
    "father",
    "parent",
    "spouse",
    "nurse",
    "staff",
    "teacher",
    "driver",
    "passenger",
    "guest",
}
_ID_WORDS = {"id", "nr", "no", "number", "nummer", "key", "code", "ref", "uuid", "num"}
_PERSON_KEYS = {"pid", "mrn", "ssn", "nhc", "pesel", "dni", "cpf", "bsn", "cpr", "personnummer"}
# Letters that are no base letter with a mark.
_PLAIN_LETTERS = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "ß": "ss", "æ": "ae"})
_PERSON_WORDS = _OF_PERSONS | {"subject", "case", "household", "account"}


def split_name(name: str) -> list[str]:
    """Return the words of a name in lower case, without marks and accents.

    Example:
        >>> split_name("patientName"), split_name("E-Mail_adresse"), split_name("Móvil")
        (['patient', 'name'], ['e', 'mail', 'adresse'], ['movil'])
    """
    parts = unicodedata.normalize("NFKD", name.translate(_PLAIN_LETTERS))
    # Marks of kana tell words apart; accents of Latin letters do not.
    plain = "".join(mark for mark in parts if not "\u0300" <= mark <= "\u036f")
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", unicodedata.normalize("NFC", plain))
    return [word for word in re.split(r"[\W_]+", spaced.lower()) if word]


def find_personal_reason(name: str) -> str | None:
    """Return what a column of persons holds, by its name; None if the name says nothing.

    Example:
        >>> find_personal_reason("patient_name"), find_personal_reason("ward")
        ('names of persons', None)
        >>> find_personal_reason("product name") is None
        True
    """
    words = split_name(name)
    together = "".join(words)
    alone = len(words) == 1 and words[0] in _NAME_WORDS
    if alone or (_NAME_WORDS & set(words) and _NAMED & set(words)):
        return "names of persons"
    for candidate in (together, *words):
        if candidate in _REASONS:
            return _REASONS[candidate]
    return None


def names_a_person(name: str) -> bool:
    """Return whether a column may be the key of persons, by its name.

    Example:
        >>> names_a_person("patient_id"), names_a_person("Kundennummer"), names_a_person("visit_id")
        (True, True, False)
    """
    words = split_name(name)
    together = "".join(words)
    stems = [word for word in _PERSON_WORDS if together.startswith(word)]
    tails = [word for word in _ID_WORDS if together.endswith(word)]
    return bool(stems and tails) or bool(
        {together, *words} & _PERSON_KEYS or together in {"user", "patient", "customer"}
    )


def refuse_personal_names(names: Iterable[str]) -> None:
    """Refuse columns that can not be estimated, as far as their names say so.

    Example:
        >>> refuse_personal_names(["age", "notes"])
        Traceback (most recent call last):
        tabpe.errors.SchemaError: column 'notes': holds free text, by its name: ...
    """
    for name in names:
        reason = find_personal_reason(name)
        if reason is not None:
            raise SchemaError(
                f"column {name!r}: holds {reason}, by its name: these can not be estimated: drop "
                f"it (--drop), or, if it holds something else, name it in the schema or in "
                f"estimate_columns (--estimate-columns)."
            )
