"""The function that unpickling calls to build an object."""


def restore(kind, method, arguments):
    return getattr(kind, method)(*arguments)
