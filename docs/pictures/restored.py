from tensift import ColumnSubsetSelector
from tensift.datasets import load_digits
from tensift.plotting import ReconstructionDisplay

digits = load_digits()
selector = ColumnSubsetSelector(20).fit(digits.data[:1200])
ReconstructionDisplay.from_estimator(selector, digits.data[1200:], samples=range(3))
