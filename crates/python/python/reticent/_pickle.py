"""What a pickle calls to build an object again."""


def restore(kind, method, arguments):
    return getattr(kind, method)(*arguments)
