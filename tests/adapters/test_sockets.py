"""Socket counters against sockets that the test opens itself."""

import contextlib
import os
import socket
import time

from exonerate.adapters.sockets import SocketRow, tcp_sockets


def row_of(port: int, peer_port: int) -> SocketRow:
    """The row of one connection, seen from the side whose local port is `port`."""
    return next(r for r in tcp_sockets() if (r.local_port, r.peer_port) == (port, peer_port))


def test_bytes_that_were_sent_are_counted_on_both_sides() -> None:
    """What the client sent is what the server's socket received, read or not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted, (_, client_port) = server.accept()
            with accepted:
                client.sendall(b"x" * 1234)
                accepted.recv(1, socket.MSG_PEEK)
                at_server = row_of(port, client_port)
                assert at_server.received_bytes == 1234
                assert at_server.unread_bytes == 1234
                assert at_server.state == "ESTABLISHED"
                # The first byte of `bytes_acked` is the SYN.
                at_client = row_of(client_port, port)
                assert at_client.sent_bytes is not None
                assert at_client.sent_bytes - 1234 in (0, 1)


def test_a_socket_that_its_peer_closed_waits_to_be_closed() -> None:
    """CLOSE_WAIT is what a client that ignores the end of a connection shows."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        with client:
            accepted, (_, client_port) = server.accept()
            accepted.close()
            client.recv(1)
            assert row_of(client_port, port).state == "CLOSE_WAIT"


def test_only_what_is_wanted_is_read() -> None:
    """By either port, or by the inode that a process holds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            client_port = client.getsockname()[1]
            ends = {port, client_port}
            rows = tcp_sockets(lambda local, peer, _: {local, peer} == ends)
            assert {row.local_port for row in rows} == ends
            (own,) = tcp_sockets(lambda _, __, inode: inode == os.fstat(client.fileno()).st_ino)
            assert own.local_port == client_port


def test_an_ipv6_connection_shows_its_addresses() -> None:
    """Both families are read."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("::1", port)) as client:
            row = row_of(client.getsockname()[1], port)
            assert row.peer == "::1"


def test_segments_that_nobody_answers_are_counted() -> None:
    """A full accept queue drops what comes: the kernel of the client tries again and says so."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        port = server.getsockname()[1]
        clients = [stack.enter_context(socket.socket()) for _ in range(3)]
        for client in clients:
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))
        ports = {client.getsockname()[1] for client in clients}
        until = time.monotonic() + 60.0
        trying: list[SocketRow] = []
        while not trying and time.monotonic() < until:
            time.sleep(0.05)
            trying = [r for r in tcp_sockets() if r.local_port in ports and r.in_a_row > 0]
        assert trying
        assert {row.state for row in trying} == {"SYN_SENT"}
        assert all(row.retransmits >= row.in_a_row for row in trying)
