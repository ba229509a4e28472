"""Random cases, right and wrong, and what must hold for every one of them.

``python -m tests.fuzz --seconds 120 --seed 0`` runs a campaign (`make fuzz`), and
``python -m tests.fuzz --area api --seed 0 --case 17`` repeats one case of it. Every case depends
only on its area, the seed and its number. `tests/test_fuzz.py` runs a few of them.
"""
