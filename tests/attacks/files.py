"""Attacks on files: reading the host's, changing the system's, and filling memory with them."""

from __future__ import annotations

from sandbox import Limits
from tests.attacks.declare import (
    OUTSIDE,
    OUTSIDE_AS_ROOT,
    attack,
    ends,
    gives,
    raised,
    refused,
)
from tests.attacks.outside import canary_is_intact

FEW_FILES = Limits(seconds=5, n_entries=500)
MANY_FILES = Limits(seconds=30, n_entries=10**9)


@attack(refused("ENOENT"), control=OUTSIDE_AS_ROOT)
def read_password_hashes(given):
    """Read the password hashes of the host."""
    open("/etc/shadow").read()


@attack(refused("ENOENT"), control=OUTSIDE)
def read_accounts(given):
    """Read the accounts of the host."""
    open("/etc/passwd").read()


@attack(refused("ENOENT"), control=OUTSIDE)
def read_a_file_of_the_user(given):
    """Read a file of the user who starts the sandbox."""
    open(given["canary"]).read()


@attack(refused("ENOENT"), control=OUTSIDE)
def list_homes(given):
    """List the home folders."""
    import os

    os.listdir("/home")


@attack(refused("ENOENT"), control=OUTSIDE)
def read_devices_of_the_kernel(given):
    """Read the description of the machine in /sys."""
    import os

    os.listdir("/sys/class")


@attack(refused("ENOENT"), control=OUTSIDE)
def read_through_a_link(given):
    """Read a file outside through a symbolic link."""
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.symlink(given["canary"], os.path.join(folder, "link"))
        open(os.path.join(folder, "link")).read()


@attack(refused("ENOENT"), control=OUTSIDE)
def read_through_a_hard_link(given):
    """Read a file outside through a hard link."""
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.link(given["canary"], os.path.join(folder, "link"))


@attack(refused("EXDEV", "EPERM", "EROFS", "EACCES"))
def link_a_program(given):
    """Make a writable hard link to a program of the system."""
    import os

    os.link("/usr/bin/env", "/box/env")


@attack(refused("ENOENT"), control=OUTSIDE)
def climb_out(given):
    """Climb above the root with ".." and through /proc/self/root."""
    open("/proc/self/root" + "/.." * 40 + given["canary"]).read()


@attack(refused("ENOENT"), control=OUTSIDE)
def read_through_the_root_of_the_parent(given):
    """Read a file outside through the root of the process outside."""
    open(f"/proc/{given['pid']}/root" + given["canary"]).read()


@attack(refused("ENOENT", "EACCES"))
def read_through_the_first_process(given):
    """Read a file outside through the root of process 1."""
    open("/proc/1/root" + given["canary"]).read()


@attack(refused("ENOENT"), control=OUTSIDE)
def enter_the_folder_of_the_parent(given):
    """Enter the working folder of the process outside."""
    import os

    os.chdir(f"/proc/{given['pid']}/cwd")


@attack(refused("EROFS", "EACCES"))
def change_the_system(given):
    """Write a program into /usr/bin."""
    open("/usr/bin/attacked", "w").close()


@attack(refused("EROFS", "EACCES"))
def change_the_packages(given):
    """Add a start-up hook to the packages of Python."""
    import sys
    import sysconfig

    path = sysconfig.get_paths(vars={"base": sys.prefix, "platbase": sys.prefix})["purelib"]
    open(path + "/attacked.pth", "w").close()


@attack(refused("EROFS", "EACCES"))
def change_the_launcher(given):
    """Change the code of the sandbox itself."""
    open("/sandbox/seal.py", "a").close()


@attack(refused("EROFS", "EACCES"))
def change_the_root(given):
    """Create a folder at the root."""
    import os

    os.mkdir("/etc")


@attack(refused("EROFS", "EACCES"))
def add_a_device(given):
    """Create a file in /dev."""
    open("/dev/attacked", "w").close()


@attack(refused("EPERM", "EACCES"))
def create_a_device(given):
    """Create a device of the machine's memory."""
    import os
    import stat

    os.mknod("/box/memory", stat.S_IFCHR | 0o600, os.makedev(1, 1))


@attack(gives([]), control=OUTSIDE)
def find_devices(given):
    """Find devices beyond those that every program needs."""
    import os

    usual = {"console", "core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr"}
    usual |= {"stdin", "stdout", "tty", "urandom", "zero"}
    return sorted(set(os.listdir("/dev")) - usual)


@attack(refused("ENOENT", "EACCES", "EROFS"))
def take_all_terminals(given):
    """Open pseudo terminals; all users of the machine share a few thousand."""
    import os

    os.openpty()


@attack(refused("EACCES", "EROFS", "EPERM"))
def change_settings_of_the_kernel(given):
    """Let the kernel run a program at the next crash."""
    open("/proc/sys/kernel/core_pattern", "w").close()


@attack(refused("EACCES", "EROFS", "EPERM", "ENOENT"))
def restart_the_machine(given):
    """Write to the trigger of emergency functions."""
    open("/proc/sysrq-trigger", "w").close()


@attack(refused("EACCES", "EPERM"))
def evade_the_memory_killer(given):
    """Exempt this process when the kernel frees memory."""
    with open("/proc/self/oom_score_adj", "w") as setting:
        setting.write("-1000")


@attack(refused("EFBIG"), control=OUTSIDE)
def create_a_sparse_file(given):
    """Create a file of one tebibyte without content."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.truncate(1 << 40)


@attack(refused("ENOSPC", "EFBIG"), control=Limits(seconds=20, scratch_bytes=256 << 20))
def fill_the_scratch_folder(given):
    """Write 100 MiB into /box."""
    for i in range(100):
        with open(f"/box/{i}", "wb", buffering=0) as file:
            if file.write(bytes(1 << 20)) < 1 << 20:
                file.write(b"the error of the rest")


@attack(refused("ENOSPC"))
def fill_shared_memory(given):
    """Write 20 MiB into /dev/shm."""
    with open("/dev/shm/attacked", "wb", buffering=0) as file:
        while file.tell() < 20 << 20:
            file.write(bytes(1 << 20))


@attack(refused("EROFS", "EACCES"))
def fill_the_root(given):
    """Write into the root, which is in memory."""
    open("/attacked", "wb").write(bytes(60 << 20))


@attack(refused("EROFS", "ENOSPC", "EACCES"))
def fill_the_terminals(given):
    """Write into /dev/pts, which is in memory."""
    open("/dev/pts/attacked", "wb").write(bytes(1 << 20))


@attack(ends("files"), limits=FEW_FILES, control=MANY_FILES)
def create_many_files(given):
    """Create empty files, whose names fill the memory of the kernel."""
    import time

    for i in range(2_000):
        open(f"/box/{i}", "w").close()
    time.sleep(1)


@attack(gives(300), limits=Limits(seconds=10))
def nest_folders(given):
    """Nest folders too deep for a path, so that whoever cleans up fails."""
    import os

    for _ in range(300):
        os.mkdir("n" * 200)
        os.chdir("n" * 200)
    return 300


@attack(gives("prw"), outside=canary_is_intact)
def return_a_pipe(given):
    """Put a named pipe in place of a result, so that a reader outside waits for ever."""
    import os
    import stat

    os.mkfifo("/box/result")
    return stat.filemode(os.lstat("/box/result").st_mode)[:3]


@attack(gives("link"), outside=canary_is_intact)
def return_a_link(given):
    """Put a link to a file outside in place of a result."""
    import os

    os.symlink(given["canary"], "/box/result")
    return "link"


@attack(refused("ENOENT"), outside=canary_is_intact)
def write_through_a_link(given):
    """Overwrite a file outside through a link."""
    import os

    os.symlink(given["canary"], "/box/link")
    open("/box/link", "w").write("changed")


@attack(gives([]), control=OUTSIDE)
def use_open_files_of_the_parent(given):
    """Find a file that the process outside has open."""
    import os

    found = []
    for number in range(3, 256):
        try:
            os.fstat(number)
            found.append(number)
        except OSError:
            continue
    return found


@attack(refused("EMFILE"), control=Limits(n_files=4096))
def open_too_many_files(given):
    """Open files until the kernel has no memory for more."""
    import os

    for _ in range(1000):
        os.open("/dev/null", os.O_RDONLY)


@attack(raised("ValueError", "PermissionError"))
def raise_a_limit(given):
    """Raise the limit of open files."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))
