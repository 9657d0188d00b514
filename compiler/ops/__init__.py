"""All operators: importing this package registers the declarations of all families."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__, __name__ + "."):
    _found = import_module(_module.name)
    if _module.ispkg:
        for _part in iter_modules(_found.__path__, _module.name + "."):
            import_module(_part.name)
