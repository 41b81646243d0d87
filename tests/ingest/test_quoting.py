import time

import pytest

from spectral_spark.ingest.quoting import own_words

NOTES = """Sure, let us meet.

Ann




{above}To: Ann Lee/HOU/ECT@ECT, Carl Poe/HOU/ECT@ECT,
Dora May/HOU/ECT@ECT
cc:{nothing}
Subject: Re: meeting

theirs theirs
"""


@pytest.mark.parametrize("separator", [
    "-----Original Message-----", " -----Original Message-----", "----- Original Message -----",
    "----Original Message-----",
    "---------------------- Forwarded by Ann Lee/HOU/ECT on 03/14/2001 \n04:02 PM ---------------------------",
    "----- Forwarded by Ann Lee", "-----Original Appointment-----", "---------- Forwarded message ----------",
    "______________________________ Forward Header __________", "Begin forwarded message:",
    "--------- Inline attachment follows ---------", "\t\t     -----Original Message-----",
    " " * 30 + "---------------------- Forwarded by Ann Lee on 03/14/2001",
    "From: Bob Ray\nSent: Monday, May 1, 2000 1:00 PM\nSubject: meeting\n",
    "\tFrom:\tBob Ray\n\tDate:\tMonday,\n\t\tMay 1\n\tImportance: high\n\tSubject:\tmeeting\n",
    "Date: Sat, 30 Jun 2001\nFrom: bob@example.com\nMessage-ID: <d3@example.com>\nSubject: Fwd: meeting",
])
def test_everything_after_a_separator_goes(separator: str) -> None:
    assert own_words(f"mine first\n\n{separator}\ntheirs\nTo: x\n").split() == ["mine", "first"]


@pytest.mark.parametrize("above", [
    "Bob Ray\n05/17/2000 03:48 PM\n",
    "bob@example.com on 12/08/2000 12:05:54 PM\n",
    '"Bob Ray" <bob@example.com> on 03/08/2001 10:34:35 AM\nPlease respond to <bob@example.com>\n',
    "\t\n\tFrom:  Bob Ray                           04/12/2000 02:39 PM\n\t\n\n",
    "From: Bob Ray/ENRON@enronXgate on 02/23/2001 10:04 AM\n",
    "From: Bob Ray\nSent: Monday, May 1, 2000 1:00 PM\n",
    "",
])
def test_a_header_inside_the_body_starts_the_quoted_mail(above: str) -> None:
    assert own_words(NOTES.format(above=above, nothing="  ")).split() == ["Sure,", "let", "us", "meet.", "Ann"]


def test_indented_header_blocks() -> None:
    header = "\tBob Ray\n\t06/01/2000 11:01 AM\n\t\t \n\t\t To: Ann/HOU\n\t\t cc: \n\t\t Subject: name"
    body = f"Thanks!\n\n\n{header}\n\ntheirs"
    assert own_words(body).split() == ["Thanks!"]


def test_text_that_only_mentions_to_and_subject_stays() -> None:
    body = "To: do list for the week\nfirst we go\nthen we come back\nand rest a little\nand then\nSubject: none\nmore"
    assert own_words(body) == body


@pytest.mark.parametrize("body", [
    "From: Houston\nTo reach us\nDate: open\nSubject: to approval\n", "From: Monday\nwe meet\n\nSubject: none\nmore\n",
    "Date: tomorrow\nSubject: the plan\nTime: noon\n", "Follow the inline attachment follows below -- thanks\n",
])
def test_a_few_words_with_colons_stay(body: str) -> None:
    assert own_words(body) == body


def test_marked_lines_go_and_the_answers_between_them_stay() -> None:
    body = "Hi\n\nOn Mon, 1 May 2000, Bob Ray wrote:\n> first?\nyes\n> > older\n>second?\nJR> third\nno\n"
    assert own_words(body).split() == ["Hi", "yes", "no"]


@pytest.mark.parametrize("line", [
    "On Mon, 1 May 2000 Bob Ray <bob@example.com> wrote:",
    "On Mon, 1 May 2000 at 13:00, Bob Ray\n<bob@example.com> wrote:",
    '"Ray, Bob" <bob@example.com> writes:',
])
def test_an_attribution_without_marks_cuts_the_rest(line: str) -> None:
    assert own_words(f"mine\n\n{line}\n\ntheirs theirs\n").split() == ["mine"]


def test_ordinary_sentences_stay() -> None:
    body = "He wrote: nothing.\nI look forward to it -- forward this please.\nOn time -- as she wrote.\n"
    assert own_words(body) == body


@pytest.mark.parametrize("body", [
    "-" * 1_000_000, "To: a\n" * 100_000, "On " * 300_000, ">" * 1_000_000, "To: a\nb\nc\nd\n" * 50_000 + "Subject: x",
    "x <" * 300_000 + "\n" + "on a\n" * 100_000 + "wrote", " \n" * 500_000, "\"" * 500_000 + " wrote:",
    '"ab" <c@d.e> wrote\n' * 50_000 + '"ab" wrote:\n>' * 50_000, "on 1\n" * 100_000 + "wrote:",
    "From: a\n" * 100_000 + "Subject:", " " * 1_000_000 + "-", "From:" * 200_000 + "Subject:", "-- " * 300_000,
])
def test_hostile_bodies_take_no_quadratic_time(body: str) -> None:
    start = time.perf_counter()
    own_words(body)
    assert time.perf_counter() - start < 20            # a quadratic pattern takes hours
