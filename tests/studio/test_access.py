"""Who may use the studio: this browser, after the one-time address, and nobody else."""

import pytest

from studios import HOST, ORIGIN, PORT, Desk, read_alert
from tabpe.studio.access import HEADERS, POLICY, AccessGuard, Session

PAGES = ("", "data", "schema", "protect", "budget", "run", "report", "release", "history")


@pytest.fixture
def stranger(desk):
    """Another browser at the same server."""
    return desk.open_client()


@pytest.mark.parametrize("page", PAGES)
def test_a_browser_that_was_not_let_in_sees_nothing(desk, stranger, page):
    answer = stranger.get(f"{desk.session.base}/{page}")
    assert answer.status_code == 403
    assert "tabpe studio" in answer.text
    assert desk.session.csrf not in answer.text


def test_the_address_works_once(tmp_path):
    desk = Desk(tmp_path)
    first, second = desk.open_client(), desk.open_client()
    assert first.get(desk.session.address).status_code == 303
    assert first.get(f"{desk.session.base}/data").status_code == 200
    assert second.get(desk.session.address).status_code == 403
    assert second.get(f"{desk.session.base}/data").status_code == 403
    # Whoever is in already may use it again, and it leads to the pages.
    assert first.get(desk.session.address).headers["location"] == f"{desk.session.base}/"
    desk.studio.project.close()


@pytest.mark.parametrize("token", ["", "wrong", "é", "a" * 10_000])
def test_a_wrong_token_is_refused_and_does_not_use_the_right_one_up(tmp_path, token):
    desk = Desk(tmp_path)
    client = desk.open_client()
    assert client.get(f"{desk.session.base}/", params={"token": token}).status_code == 403
    assert client.get(desk.session.address).status_code == 303
    desk.studio.project.close()


def test_the_cookie_is_strict_hidden_from_scripts_and_bound_to_the_folder(tmp_path):
    desk = Desk(tmp_path)
    (cookie,) = desk.open_client().get(desk.session.address).headers.get_list("set-cookie")
    parts = {part.strip().lower() for part in cookie.split(";")}
    assert {"httponly", "samesite=strict", f"path={desk.session.base}".lower()} <= parts
    assert not any(part.startswith(("domain", "max-age", "expires")) for part in parts)
    desk.studio.project.close()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "127.0.0.1:9",
        f"[::1]:{PORT}",
        "",
        HOST + ".",
    ],
)
def test_another_name_of_the_server_is_refused(desk, host):
    assert desk.get("data", host=host).status_code == 400
    assert desk.post("data/example", headers=ORIGIN | {"host": host}).status_code == 400
    assert desk.state.data is None


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        "http://127.0.0.1",
        f"https://{HOST}",
        "http://localhost:1",
    ],
)
def test_a_form_of_another_page_is_refused(desk, origin):
    headers = {} if origin is None else {"Origin": origin}
    assert desk.post("data/example", headers=headers).status_code == 403
    assert desk.state.data is None


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_of_another_site_is_refused(desk, site):
    assert desk.get("data", **{"sec-fetch-site": site}).status_code == 403


@pytest.mark.parametrize("csrf", ["", "wrong", None, "é"])
def test_a_form_without_the_token_of_the_session_is_refused(desk, csrf):
    fields = {} if csrf is None else {"csrf": csrf}
    address = f"{desk.session.base}/data/example"
    assert desk.client.post(address, data=fields, headers=ORIGIN).status_code == 403
    assert desk.state.data is None


def test_every_form_needs_the_token(desk):
    routes = [
        route.path
        for mount in create_routes(desk)
        for route in mount.routes
        if "POST" in (route.methods or ())
    ]
    assert len(routes) > 20
    for path in routes:
        answer = desk.client.post(desk.session.base + path, data={"x": "1"}, headers=ORIGIN)
        assert answer.status_code == 403, path
        assert desk.client.get(desk.session.base + path).status_code in (404, 405), path
    assert desk.state.version == 0


def create_routes(desk):
    guard: AccessGuard = desk.client.app
    return guard._app.routes


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(desk, method):
    answer = desk.client.request(method, f"{desk.session.base}/data", headers=ORIGIN)
    assert answer.status_code in (403, 405)


@pytest.mark.parametrize("path", ["/", "/data", "/static/htmx.min.js", "/%2e%2e/data"])
def test_nothing_is_outside_of_the_random_folder(desk, path):
    assert desk.client.get(path).status_code == 404


@pytest.mark.parametrize(
    "name", ["../app.py", "..%2fapp.py", "%2e%2e%2fapp.py", "studio.css/../../app.py", "x", "."]
)
def test_no_file_but_the_known_ones_is_sent(desk, name):
    assert desk.get(f"static/{name}").status_code == 404


@pytest.mark.parametrize("page", PAGES[1:])
def test_every_page_has_a_strict_policy_and_is_never_kept(declared, page):
    answer = declared.get(page)
    assert answer.status_code == 200
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "unsafe" not in POLICY
    for bad in ("<script>", "javascript:", " style=", " onclick", "http://", "https://"):
        assert bad not in answer.text.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_forms_and_uploads_are_limited_in_size(desk):
    long = "a" * (5 * 2**20)
    assert desk.post("data/file", address=long).status_code == 413
    big = {"file": ("big.csv", b"a\n" * 2**20)}
    assert desk.post("data/upload", files=big).status_code == 413

    def stream():
        yield b"csrf=" + desk.session.csrf.encode() + b"&address="
        for _ in range(60):
            yield b"a" * 2**17

    headers = ORIGIN | {"content-type": "application/x-www-form-urlencoded"}
    address = f"{desk.session.base}/data/file"
    assert desk.client.post(address, content=stream(), headers=headers).status_code == 413
    assert desk.state.data is None


@pytest.mark.parametrize("length", ["-1", "many", "9" * 400])
def test_a_false_length_is_refused(desk, length):
    answer = desk.post("data/example", headers=ORIGIN | {"content-length": length})
    assert answer.status_code == 413


def test_a_body_that_is_no_form_is_refused(desk):
    headers = ORIGIN | {"content-type": "multipart/form-data; boundary=x"}
    address = f"{desk.session.base}/data/file"
    answer = desk.client.post(address, content=b"\x00\xff--x", headers=headers)
    assert answer.status_code in (400, 403)


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../../etc/passwd", "~/.bashrc", "file:///etc/passwd", "a\0b", "link.csv"],
)
def test_files_outside_of_the_folders_are_refused(desk, path):
    (desk.folder / "link.csv").symlink_to("/etc/passwd")
    answer = desk.post("data/file", address=path)
    assert answer.status_code == 422
    assert "root:" not in answer.text
    assert desk.state.data is None


def test_a_database_outside_of_the_folders_is_refused(desk):
    answer = desk.post("data/file", address="sqlite:////etc/passwd", table="t")
    assert "outside of the folders" in read_alert(answer)


def test_a_listing_stays_in_the_folders(desk):
    assert desk.get("data?in=/etc").status_code == 422
    assert "visits.csv" in desk.get("data").text


def test_an_upload_is_named_by_us(desk):
    content = (desk.folder / "visits.csv").read_bytes()
    answer = desk.post("data/upload", files={"file": ("../../../x/..\\evil<b>.csv", content)})
    assert answer.status_code == 303
    path = desk.studio.project.folder.joinpath(*desk.state.data.address.split("/")[-3:])
    assert path.is_file()
    assert path.is_relative_to(desk.studio.project.folder / "uploads")
    assert path.stat().st_mode & 0o077 == 0
    assert "<" not in path.name


def test_markup_in_names_of_columns_and_files_is_text(desk):
    bad = '<script>alert(1)</script>","a"" onclick=x'
    (desk.folder / "x.csv").write_text(f'"{bad}"\n' + "3,4\n" * 30)
    assert desk.post("data/file", address="x.csv").status_code == 303
    for page in ("schema", "data", "data/preview", "protect", "budget", "run"):
        text = desk.get(page).text
        assert "<script>alert" not in text
        assert 'a" onclick' not in text
    answer = desk.post("data/file", address='"><img src=x onerror=alert(1)>')
    assert "<img" not in answer.text
    answer = desk.post("budget/total", dataset="<b>x</b>", total="1", total_delta="1e-6")
    assert "<b>x" not in desk.get("budget").text


def test_two_starts_share_no_secret():
    one, other = Session(1), Session(1)
    for name in ("base", "token", "cookie", "csrf"):
        assert getattr(one, name) != getattr(other, name)
        assert len(getattr(one, name)) > 20
