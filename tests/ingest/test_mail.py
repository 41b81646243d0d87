import pytest

from spectral_spark.ingest.mail import read_mail


def test_plain_mail_with_either_line_end() -> None:
    lines = "Message-ID: <1@x>\nFrom: Ann.Lee@Enron.com\nSubject: Gas prices\n\nFirst line\nsecond line\n"
    for data in (lines, lines.replace("\n", "\r\n")):
        found = read_mail(data.encode())
        assert found is not None
        assert found.sender == "ann.lee@enron.com"
        assert found.subject == "Gas prices"
        assert found.body == "First line\nsecond line\n"


def test_folded_and_encoded_headers_are_joined_and_decoded() -> None:
    found = read_mail(
        b"From: =?iso-8859-1?Q?J=F6rg?=\r\n <joerg@example.de>\r\n"
        b"Subject: =?utf-8?B?R3LDvMOfZQ==?=\r\n =?utf-8?Q?_aus_K=C3=B6ln?=\r\n\r\nHallo")
    assert found is not None
    assert found.sender == "joerg@example.de"
    assert found.subject == "Grüße aus Köln"


@pytest.mark.parametrize(("value", "address"), [
    ('"Lee, Ann" <ann@enron.com>', "ann@enron.com"),
    ("legal <.hall@enron.com>", "hall@enron.com"),
    ("ann@enron.com (Ann)", "ann@enron.com"),
    ("pep <performance.>", None),
    ("", None),
])
def test_sender_addresses(value: str, address: str | None) -> None:
    found = read_mail(f"From: {value}\nSubject: s\n\nb".encode())
    assert found is not None
    assert found.sender == address


@pytest.mark.parametrize(("headers", "body"), [
    ("Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable", b"Stra=DFe so=\nft"),
    ("Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64", b"U3RyYcOfZSBzb2Z0"),
    ("Content-Type: text/plain; charset=us-ascii", "Straße soft".encode("cp1252")),
    ("Content-Type: text/plain; charset=no-such-set", "Straße soft".encode()),
    ("Content-Type: text/plain; charset=punycode", "Straße soft".encode()),
    ("Content-Type: text/html; charset=utf-8",
     b"<html><style>p {x}</style><p>Stra&szlig;e</p><script>if (a<b) c()</script>soft</html>"),
    ('Mime-Version: 1.0\nContent-Type: multipart/alternative; boundary="b"',
     "--b\nContent-Type: text/html\n\n<p>other</p>\n--b\nContent-Type: text/plain; charset=utf-8\n\n"
     "Straße soft\n--b--".encode()),
])
def test_bodies_are_decoded(headers: str, body: bytes) -> None:
    found = read_mail(f"From: a@b.c\nSubject: s\n{headers}\n\n".encode() + body)
    assert found is not None
    assert found.body.split() == ["Straße", "soft"]


def test_half_characters_do_not_get_through() -> None:
    found = read_mail(b"From: a@b.c\nSubject: =?utf-7?Q?+2AA-?=\nContent-Type: text/plain; charset=utf-7\n\n+2AA- x")
    assert found is not None
    found.subject.encode()
    found.body.encode()


def test_an_attached_mail_is_not_the_senders() -> None:
    found = read_mail(
        b"From: a@b.c\nSubject: s\nMime-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
        b"--b\nContent-Type: text/plain\n\nmine\n--b\nContent-Type: message/rfc822\n\n"
        b"From: z@y.x\nSubject: t\n\ntheirs\n--b--\n")
    assert found is not None
    assert found.body.split() == ["mine"]


@pytest.mark.parametrize("data", [
    b"", b"no header here\njust text", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytes(range(256)),
])
def test_what_is_no_mail_is_none(data: bytes) -> None:
    assert read_mail(data) is None


def test_a_mail_without_a_body() -> None:
    found = read_mail(b"From: a@b.c\nSubject: only this")
    assert found is not None
    assert found.body == ""


@pytest.mark.parametrize(("subject", "starts"), [
    ("Gas", True), ("Re: Gas", False), ("FW: Gas", False), ("fwd: Gas", False), ("RE[2]: Gas", False),
    ("Research", True),
])
def test_whose_subject_it_is(subject: str, starts: bool) -> None:
    found = read_mail(f"From: a@b.c\nSubject: {subject}\n\nb".encode())
    assert found is not None
    assert found.starts_a_thread is starts


@pytest.mark.parametrize("header", [
    "From: " + "a" * 2_000_000, "From: " + "a@" * 500_000, "From: " + "<a@" * 500_000, 'From: "' + "a\\" * 500_000,
    "From: a@b.c\nSubject: re" + " " * 1_000_000 + "x", "From: a@b.c\nSubject: " + "=?a?q?" * 200_000,
    "From: a@b.c\nContent-Type: text/plain; " + "charset " * 200_000, "From: " + "\n a" * 500_000,
])
def test_hostile_headers_take_no_quadratic_time(header: str) -> None:
    found = read_mail(f"{header}\n\nbody".encode())                            # minutes to hours, if they did
    assert found is not None
    assert found.body == "body"
    assert len(found.subject) + len(found.sender or "") < 5000
    assert found.starts_a_thread in (True, False)


@pytest.mark.parametrize("headers", [
    "Content-Type: application/pdf", "Content-Type: image/svg+xml", "Content-Transfer-Encoding: base64",
])
def test_what_is_no_text_gives_no_words(headers: str) -> None:
    found = read_mail(f"From: a@b.c\nSubject: s\n{headers}\n\nQUJD/endobj/RGVmgh=stream words\n".encode())
    assert found is not None
    assert found.body == ""
