"""The type stubs agree with the compiled module: the same names, the same parameters in the same order, the same defaults."""

import ast
import inspect
import pathlib

import reticent
from reticent import _core

STUB = ast.parse(pathlib.Path(reticent.__file__).with_name("_core.pyi").read_text())


def public(name):
    return not name.startswith("_") or name in ("__len__", "__bytes__", "__iter__", "__add__", "__mul__")


def parameters(function):
    """Name, kind and default of every parameter of a stub."""
    given = function.args
    first = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(first) - len(given.defaults)) + given.defaults
    named = [(argument.arg, False, default and ast.unparse(default)) for argument, default in zip(first, defaults)]
    named += [(argument.arg, True, default and ast.unparse(default)) for argument, default in zip(given.kwonlyargs, given.kw_defaults)]
    return [entry for entry in named if entry[0] not in ("self", "cls")]


def real(function):
    """The same of the compiled function."""
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "type") or parameter.kind is parameter.VAR_KEYWORD:
            continue
        default = None if parameter.default is parameter.empty else repr(parameter.default).replace("Ellipsis", "...")
        found.append((parameter.name, parameter.kind is parameter.KEYWORD_ONLY, default))
    return found


def test_the_stub_names_everything_and_nothing_else():
    stubbed = {node.name for node in STUB.body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and public(node.name)}
    compiled = {name for name in vars(_core) if public(name)}
    assert stubbed == compiled


def test_functions_have_the_stubs_parameters():
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            assert parameters(node) == real(getattr(_core, node.name)), node.name


def test_classes_have_the_stubs_methods():
    checked = 0
    for node in STUB.body:
        if not isinstance(node, ast.ClassDef) or node.name == "ReticentError":
            continue
        kind = getattr(_core, node.name)
        methods = {method.name: method for method in node.body if isinstance(method, ast.FunctionDef)}
        assert {name for name in methods if public(name)} == {name for name in vars(kind) if public(name)}, node.name
        for name, method in methods.items():
            decorators = {ast.unparse(decorator) for decorator in method.decorator_list}
            there = inspect.getattr_static(kind, name)
            assert ("property" in decorators) == inspect.isgetsetdescriptor(there), (node.name, name)
            assert ("staticmethod" in decorators) == isinstance(there, staticmethod) or name == "__new__", (node.name, name)
            if name == "__new__":
                assert parameters(method) == real(kind), node.name
            elif "property" not in decorators and not name.startswith("__"):
                assert parameters(method) == real(getattr(kind, name)), (node.name, name)
                checked += 1
    assert checked > 60


def test_the_package_is_typed():
    assert pathlib.Path(reticent.__file__).with_name("py.typed").exists()
