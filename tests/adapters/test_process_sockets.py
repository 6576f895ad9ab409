"""Which process holds a socket, asked of `/proc` about this very process."""

import os
import socket

from exonerate.adapters.process_sockets import processes_listening_on, socket_inodes


def test_a_listening_process_is_found_by_its_port() -> None:
    """This test listens, so this process is among those that do."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert os.getpid() in processes_listening_on(server.getsockname()[1])


def test_a_port_nobody_listens_on_has_no_process() -> None:
    """Once closed, nobody is found."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert processes_listening_on(port) == []


def test_the_sockets_of_a_process_come_and_go() -> None:
    """An open socket is among the inodes, a closed one is not; a dead pid holds none."""
    with socket.socket() as opened:
        inode = os.fstat(opened.fileno()).st_ino
        assert inode in socket_inodes([os.getpid()])
    assert inode not in socket_inodes([os.getpid()])
    assert socket_inodes([2**22 + 1]) == set()
