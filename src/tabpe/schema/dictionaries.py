"""Public lists of values that a schema may name: `values: iso-3166`.

They are public whatever a table holds. That a column is of one of them is a fact about the form,
which is drafted from the data like all else, and marked so until somebody confirms it.
"""

from __future__ import annotations

_COUNTRIES = (
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO "
    "BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ "
    "DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP "
    "GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG "
    "KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML "
    "MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE "
    "PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL "
    "SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM "
    "US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
)
_LANGUAGES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv "
    "cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho "
    "hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku "
    "kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn "
    "no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm "
    "sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi "
    "vo wa wo xh yi yo za zh zu"
)
_ICD_CHAPTERS = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI XXII"
_STATES = (
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV "
    "NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY"
)
_MONTHS = "January February March April May June July August September October November December"
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_DECADES = tuple(f"{low}-{low + 9}" for low in range(0, 90, 10))

DICTIONARIES: dict[str, tuple[str, ...]] = {
    "iso-3166": tuple(_COUNTRIES.split()),
    "iso-639": tuple(_LANGUAGES.split()),
    "iso-5218": ("0", "1", "2", "9"),
    "sex": ("female", "male"),
    "sex-letters": ("F", "M"),
    "us-states": tuple(_STATES.split()),
    "icd-10-chapters": tuple(_ICD_CHAPTERS.split()),
    "nace-sections": tuple("ABCDEFGHIJKLMNOPQRSTU"),
    "blood-groups": ("0+", "0-", "A+", "A-", "AB+", "AB-", "B+", "B-"),
    "age-bands-10": (*_DECADES, "90+"),
    "months": tuple(_MONTHS.split()),
    "weekdays": tuple(_WEEKDAYS.split()),
}
_FEWEST = 3


def list_dictionary(name: str) -> tuple[str, ...] | None:
    """Return the values of a public dictionary; None if there is none of that name.

    Example:
        >>> len(list_dictionary("iso-3166")), list_dictionary("iso-0") is None
        (249, True)
    """
    return DICTIONARIES.get(name)


def find_dictionary(values: set[str]) -> str | None:
    """Return the shortest public dictionary that holds some texts; None if none does.

    Example:
        >>> find_dictionary({"DE", "FR", "JP", "NA"}), find_dictionary({"A", "B"}) is None
        ('iso-3166', True)
    """
    if len(values) < _FEWEST or not any(any(map(str.isalpha, value)) for value in values):
        return None
    fitting = [name for name, listed in DICTIONARIES.items() if values <= set(listed)]
    return min(fitting, key=lambda name: len(DICTIONARIES[name]), default=None)
