"""Collections of garbage wait while programs are made, and go on as they were afterwards."""

import gc
import threading

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.execution import pipeline
from tracegrad.runtime.gc_pause import collected_later


@pytest.fixture(autouse=True)
def collecting():
    assert gc.isenabled()
    yield
    gc.enable()


def test_no_collection_starts_inside():
    with collected_later():
        assert not gc.isenabled()
        with collected_later():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_off_stays_off():
    gc.disable()
    with collected_later():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_an_exception_lets_collections_go_on():
    with pytest.raises(ZeroDivisionError), collected_later():
        1 / 0  # noqa: B018
    assert gc.isenabled()


def test_the_last_of_several_threads_lets_collections_go_on():
    inside, go_on = threading.Event(), threading.Event()

    def stay():
        with collected_later():
            inside.set()
            go_on.wait()

    thread = threading.Thread(target=stay, daemon=True)
    thread.start()
    inside.wait()
    with collected_later():
        pass
    assert not gc.isenabled()
    go_on.set()
    thread.join()
    assert gc.isenabled()


def test_programs_are_made_between_collections(monkeypatch):
    seen = []
    emit = pipeline.codegen.emit
    monkeypatch.setattr(
        pipeline.codegen, "emit", lambda *args: (seen.append(gc.isenabled()), emit(*args))[1]
    )
    tg.value_and_grad(lambda x: np.sum(np.tanh(x * 0.8125)))(np.ones(3))
    assert seen == [False]
    assert gc.isenabled()
