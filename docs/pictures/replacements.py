from tensift import ColumnSubsetSelector
from tensift.datasets import load_digits
from tensift.plotting import ReplacementDisplay

digits = load_digits()
selector = ColumnSubsetSelector(20).fit(digits.data[:1200])
ReplacementDisplay.from_estimator(selector, dims=digits.dims, most=12)
