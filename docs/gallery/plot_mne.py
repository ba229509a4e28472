"""
EEG with MNE-Python: from epochs to a cap with few electrodes
=============================================================

A cap with 64 electrodes takes long to put on. Which eight electrodes tell most about the other 56?
Selectors take the epochs of MNE-Python as they are, and return epochs. Channels keep their names,
and channels that are marked as bad are left out.

First we simulate 80 epochs of one second, without a download: six sources in the brain, each of
which reaches the electrodes around it, and noise. Two electrodes have lost contact.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import mne
import numpy as np

from tensift import GeometrySelector
from tensift.plotting import TopographyDisplay
from tensift.report import write_report

mne.set_log_level("WARNING")
rng = np.random.default_rng(0)
montage = mne.channels.make_standard_montage("biosemi64")
info = mne.create_info(montage.ch_names, sfreq=128, ch_types="eeg").set_montage(montage)
places = np.array([channel["loc"][:3] for channel in info["chs"]])
centres = places[[info["ch_names"].index(name) for name in ("F3", "FC4", "C3", "CP4", "P7", "Oz")]]
reach = np.exp(-(((places[:, None] - centres) / 0.055) ** 2).sum(axis=-1))
frequencies = np.array([6, 10, 14, 20, 8, 11])[:, None]
phases = rng.uniform(0, 2 * np.pi, (80, 6, 1))
strengths = rng.gamma(4, 0.25, (80, 6, 1))
sources = strengths * np.sin(2 * np.pi * frequencies * np.arange(128) / 128 + phases)
volts = 1e-5 * (reach @ sources + 0.15 * rng.normal(size=(80, 64, 128)))
events = np.column_stack([128 * np.arange(80), np.zeros(80, int), 1 + np.arange(80) % 2])
epochs = mne.EpochsArray(volts, info, events, event_id={"eyes open": 1, "eyes closed": 2})
epochs.info["bads"] = ["T8", "PO4"]
temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
_ = epochs[:60].save(folder / "subject-epo.fif")

# %%
# From the file to electrodes
# ---------------------------
#
# The file has the first 60 epochs. With ``feature_mode="channel"`` the channels are the features.

recorded = mne.read_epochs(folder / "subject-epo.fif")
selector = GeometrySelector(8, feature_mode="channel").fit(recorded)
write_report(folder / "report.html", selector, recorded)
print("electrodes:", ", ".join(selector.get_feature_names_out()))

# %%
# The same as a command, for a file of your own:

command = "select subject-epo.fif --method geometry --feature-mode channel -k 8 --report"
run = [sys.executable, "-m", "tensift.cli", *command.split()]
done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True)
print(f"$ tensift {command}")
print(done.stdout.split("time ")[0])
temporary.cleanup()

# %%
# How good is the small cap?
# --------------------------
#
# The selector takes all epochs, and returns epochs.

small_cap = selector.transform(epochs)
whole, deviation = selector.reconstruct(small_cap, return_std=True)
TopographyDisplay.from_selector(selector)
plt.show()

# %%
# ``small_cap`` and ``whole`` are epochs with the events of the recording: of the eight electrodes,
# and of all good ones, estimated from the eight. The last 20 epochs were not used to select or to
# learn, so they say how good the estimates are.

print("places:", selector.picks_)
left_out = [name for name in whole.ch_names if name not in small_cap.ch_names]
truth = epochs[60:].get_data(picks=left_out)
error = whole[60:].get_data(picks=left_out) - truth
inside = abs(error) <= 1.645 * deviation[60:].get_data(picks=left_out)
print(f"variance of the other {len(left_out)} explained: {1 - error.var() / truth.var():.2f}")
print(f"possible: {1 - (0.15e-5) ** 2 / truth.var():.2f}")
print(f"90 % intervals cover: {inside.mean():.2f}")

# %%
# **Found?** Yes. The eight electrodes explain 0.86 of what the others record. More than 0.90 is
# not possible: the rest is the noise of each electrode, which no other electrode knows. Five draws
# of eight electrodes at random explain 0.59 to 0.80.
#
# Several people are a list or a dict of epochs, ``fit({"anna": ..., "ben": ...})``: the channels
# that all have are found by name, and each person is scaled by itself. With several types of
# channels, such as magnetometers, gradiometers and electrodes, each type is divided by its spread,
# so that units do not decide. Results have the units of the recording.
