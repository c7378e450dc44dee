"""Audio to listen to: a WAV file, or vowels made here (pulses of a voice through formants)."""

import wave
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

RATE, CHUNK = 16_000, 512
FORMANTS = {
    "a": (730, 1090, 2440), "e": (530, 1840, 2480), "i": (270, 2290, 3010),
    "o": (570, 840, 2410), "u": (300, 870, 2240),
}  # fmt: skip
BANDWIDTHS = (80, 100, 140)
PHRASES, SYLLABLES, PAUSE_S = 3, 7, 0.8


def load(path: Path) -> np.ndarray:
    """Float32 samples of a 16-bit mono WAV at 16 kHz, whole chunks. Raises SystemExit."""
    with wave.open(str(path)) as file:
        found = (file.getframerate(), file.getnchannels(), file.getsampwidth())
        if found != (RATE, 1, 2):
            raise SystemExit(
                f"{path}: {found[0]} Hz, {found[1]} channel(s), {8 * found[2]} bits; expected "
                f"{RATE} Hz, 1 channel, 16 bits"
            )
        samples = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    return whole_chunks(samples.astype(np.float32) / 32768)


def speak(seed: int) -> np.ndarray:
    """Three phrases of seven syllables with pauses between; every seed says something else."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(PHRASES):
        parts.append(pause(rng))
        for name in rng.choice(list(FORMANTS), SYLLABLES):
            parts += [vowel(name, rng), consonant(rng)]
    parts.append(pause(rng))
    return whole_chunks(np.concatenate(parts).astype(np.float32))


def whole_chunks(samples: np.ndarray) -> np.ndarray:
    return samples[: len(samples) // CHUNK * CHUNK]


def vowel(name: str, rng: np.random.Generator) -> np.ndarray:
    count = int(RATE * rng.uniform(0.12, 0.22))
    times = np.arange(count) / RATE
    pitch = np.linspace(rng.uniform(110, 150), rng.uniform(90, 120), count)
    pitch *= 1 + 0.01 * np.sin(2 * np.pi * 5 * times)
    # One pulse each time the phase of the voice goes round, and a little breath.
    pulses = np.diff(np.floor(np.cumsum(pitch) / RATE), prepend=0)
    sound = lfilter([1], [1, -0.96], pulses + 0.02 * rng.standard_normal(count))
    for formant, bandwidth in zip(FORMANTS[name], BANDWIDTHS, strict=True):
        radius = np.exp(-np.pi * bandwidth / RATE)
        poles = [1, -2 * radius * np.cos(2 * np.pi * formant / RATE), radius**2]
        sound = lfilter([sum(poles)], poles, sound)
    sound = np.diff(sound, prepend=0)
    return 0.4 * sound / np.abs(sound).max() * np.hanning(count) ** 0.3


def consonant(rng: np.random.Generator) -> np.ndarray:
    count = int(RATE * 0.05)
    return 0.05 * rng.standard_normal(count) * np.hanning(count)


def pause(rng: np.random.Generator) -> np.ndarray:
    return 0.001 * rng.standard_normal(int(RATE * PAUSE_S))
