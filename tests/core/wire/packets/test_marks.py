"""What is recognised in the bytes of packets; nothing else of them is kept."""

from exonerate.core.wire.code_words import code_word
from exonerate.core.wire.packets.marks import code_words_of, is_interim, request_ids_of, says_end

OWN = "exonerate-0123456789abcdef"


def test_only_our_own_request_ids_are_recognised() -> None:
    """Those of others can name their users."""
    head = b"POST /v1 HTTP/1.1\r\nx-request-id: %s\r\nx-request-id: alice\r\n\r\n" % OWN.encode()
    assert list(request_ids_of(head)) == [OWN]
    assert not request_ids_of(OWN.encode() + b"0")


def test_our_own_code_words_are_recognised() -> None:
    """They stand in no text by accident."""
    word = code_word("seed")
    assert list(code_words_of(b'{"content":"Your code word is %s."' % word.encode())) == [word]
    assert not code_words_of(b"a zulu")


def test_an_interim_answer_is_not_the_answer() -> None:
    """`100 Continue` only says that the request may go on."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    assert is_interim(interim)
    assert not is_interim(interim + b"HTTP/1.1 200 OK\r\n\r\n")
    assert not is_interim(b"HTTP/1.1 200 OK\r\n\r\n")


def test_the_end_of_an_answer_shows_at_the_end_of_a_packet() -> None:
    """Of a chunked body, and of a stream of events."""
    assert all(map(says_end, (b"0\r\n\r\n", b"x\r\n0\r\n\r\n", b"data: [DONE]\n\n")))
    assert not says_end(b"data: {}\n\n")
