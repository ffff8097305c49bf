"""Progress of a run: a bar in a notebook, a line on a terminal, or a function of the caller."""

import contextlib
import sys


def _in_notebook():
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextlib.contextmanager
def reporter(progress):
    """A function of (done, all), or None."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not _in_notebook()):
        yield None
    elif _in_notebook():
        with _bar() as tell:
            yield tell
    else:
        yield _line
        print(file=sys.stderr)


@contextlib.contextmanager
def _bar():
    from IPython.display import HTML, display

    handle = display(HTML(""), display_id=True)

    def tell(done, every):
        handle.update(HTML(f'<progress value="{done}" max="{every}"></progress> {done} of {every}'))

    yield tell
    handle.update(HTML(""))


def _line(done, every):
    print(f"\r{done} of {every}", end="", file=sys.stderr, flush=True)
