"""All operators: importing this package registers every declaration in it."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__, __name__ + "."):
    import_module(_module.name)
