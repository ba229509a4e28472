"""Attributes that are computed once for each instance, in several threads at the same time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from tensift._utils.computed_once import computed_once
from tensift.moments import GramTensor


class Counted:
    """Counts how often its value is computed."""

    def __init__(self, value, meeting=None):
        self.given, self.meeting, self.count = value, meeting, 0

    @computed_once
    def value(self):
        """Twice what was given."""
        self.count += 1
        if self.meeting is not None:
            self.meeting.wait()
        return 2 * self.given


def test_values_are_kept_for_each_instance():
    one, other = Counted(1), Counted(2)
    assert [one.value, other.value, one.value] == [2, 4, 2]
    assert one.count == other.count == 1
    assert Counted.value.__doc__ == "Twice what was given."
    one.__dict__["value"] = 7  # what is known already is not computed
    assert one.value == 7


def test_threads_do_not_wait_for_each_other():
    """Each of two threads waits within its computation until the other has begun."""
    meeting = Barrier(2, timeout=60)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda one: one.value, [Counted(1, meeting), Counted(2, meeting)])
        assert list(found) == [2, 4]


def test_gram_matrices_are_decomposed_at_the_same_time(monkeypatch):
    meeting = Barrier(2, timeout=60)

    def eigh(matrices):
        meeting.wait()
        return np.linalg.eigh(matrices)

    monkeypatch.setattr("tensift.moments._tensor.eigh", eigh)
    grams = [GramTensor(np.diag([scale, 1.0])[None], thin=False) for scale in (4.0, 9.0)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda gram: gram.spectrum[0].tolist(), grams))
    assert found == [[[1.0, 4.0]], [[1.0, 9.0]]]
