from tensift import STPCASelector, stability_selection
from tensift.datasets import load_digits

digits = load_digits()
found = stability_selection(STPCASelector(20), digits, n_resamples=20)
found.plot()
