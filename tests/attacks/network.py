"""Attacks on the network: every kind of socket that leads out of the sandbox."""

from __future__ import annotations

from tests.attacks.declare import OUTSIDE, OUTSIDE_AS_ROOT, UNFILTERED, attack, refused


@attack(refused("EPERM"), control=OUTSIDE)
def connect_by_tcp(given):
    """Connect to a server on this machine."""
    import socket

    socket.create_connection(("127.0.0.1", given["port"]), timeout=2).close()


@attack(refused("EPERM"), control=UNFILTERED)
def connect_by_ipv6(given):
    """Connect by version 6 of the Internet Protocol."""
    import socket

    with socket.socket(socket.AF_INET6) as opened:
        opened.settimeout(2)
        opened.connect(("::1", given["port"]))


@attack(refused("EPERM"), control=OUTSIDE)
def send_a_datagram(given):
    """Send a datagram, which needs no connection and which Landlock does not see."""
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.sendto(b"secret", ("127.0.0.1", given["datagrams"]))


@attack(refused("EPERM"), control=OUTSIDE)
def listen(given):
    """Wait for connections from outside."""
    import socket

    socket.create_server(("127.0.0.1", 0)).close()


@attack(refused("EPERM"), control=UNFILTERED)
def ask_the_kernel_by_netlink(given):
    """Ask for the network interfaces of the machine."""
    import socket

    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()


@attack(refused("EPERM"), control=OUTSIDE_AS_ROOT)
def read_raw_packets(given):
    """Read the packets of all programs."""
    import socket

    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()


@attack(refused("EPERM"), control=UNFILTERED)
def talk_to_the_hypervisor(given):
    """Open a socket to the host of this virtual machine."""
    import socket

    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()


@attack(refused("EPERM"), control=UNFILTERED)
def use_the_crypto_interface(given):
    """Open a socket of the kernel's cryptography, a source of past exploits."""
    import socket

    socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET).close()


@attack(refused("EPERM"), control=UNFILTERED)
def hide_a_family_in_upper_bits(given):
    """Ask for a network socket with bits set that the kernel ignores."""
    import ctypes
    import os
    import platform

    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 41}.get(platform.machine(), 198)
    family = ctypes.c_long(2 | (1 << 32))
    if libc.syscall(number, family, ctypes.c_long(1), ctypes.c_long(0)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attack(refused("ENOENT"), control=OUTSIDE)
def connect_to_a_socket_file(given):
    """Connect to a service of the host through its socket file."""
    import socket

    with socket.socket(socket.AF_UNIX) as opened:
        opened.connect(given["path"])


@attack(refused("ECONNREFUSED", "EPERM"), control=OUTSIDE)
def connect_to_an_abstract_socket(given):
    """Connect to a service of the host through an abstract address, which is no file."""
    import socket

    with socket.socket(socket.AF_UNIX) as opened:
        opened.connect("\0" + given["abstract"])
