// Reads the samples of a WAV file: one channel, between -1 and 1.

const [PCM, FLOAT, EXTENSIBLE] = [1, 3, 0xfffe];
const FORMAT_BYTES = 16;

/**
 * @param {ArrayBuffer} buffer
 * @returns {{samples: Float32Array, rate: number, channels: number} | null} null for a file of another format
 */
export function readWav(buffer) {
  const view = new DataView(buffer);
  if (view.byteLength < 12 || tag(view, 0) !== "RIFF" || tag(view, 8) !== "WAVE") return null;
  let format = null;
  for (let at = 12; at + 8 <= view.byteLength; ) {
    const [name, size] = [tag(view, at), view.getUint32(at + 4, true)];
    const end = Math.min(at + 8 + size, view.byteLength);
    if (name === "fmt " && end - at - 8 >= FORMAT_BYTES) format = formatAt(view, at + 8, end);
    if (name === "data") return format && samplesOf(view, at + 8, end, format);
    at += 8 + size + (size % 2);
  }
  return null;
}

/** @param {DataView} view @param {number} at @param {number} end */
function formatAt(view, at, end) {
  const kind = view.getUint16(at, true);
  return {
    kind: kind === EXTENSIBLE && end - at >= 26 ? view.getUint16(at + 24, true) : kind,
    channels: view.getUint16(at + 2, true),
    rate: view.getUint32(at + 4, true),
    bits: view.getUint16(at + 14, true),
  };
}

/** Readers of one sample, by kind and bits. @type {Record<string, (view: DataView, at: number) => number>} */
const READERS = {
  [`${PCM}:8`]: (view, at) => (view.getUint8(at) - 128) / 128,
  [`${PCM}:16`]: (view, at) => view.getInt16(at, true) / 2 ** 15,
  [`${PCM}:24`]: (view, at) => (view.getUint16(at, true) / 256 + view.getInt8(at + 2) * 256) / 2 ** 15,
  [`${PCM}:32`]: (view, at) => view.getInt32(at, true) / 2 ** 31,
  [`${FLOAT}:32`]: (view, at) => view.getFloat32(at, true),
};

/**
 * @param {DataView} view
 * @param {number} start
 * @param {number} end
 * @param {ReturnType<typeof formatAt>} format
 */
function samplesOf(view, start, end, { kind, channels, rate, bits }) {
  const read = READERS[`${kind}:${bits}`];
  if (!read || channels === 0) return null;
  const size = bits / 8;
  const n = Math.floor((end - start) / size / channels);
  const samples = new Float32Array(n);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let c = 0; c < channels; c++) sum += read(view, start + (i * channels + c) * size);
    samples[i] = sum / channels;
  }
  return { samples, rate, channels };
}

/** @param {DataView} view @param {number} at */
function tag(view, at) {
  return String.fromCharCode(...[0, 1, 2, 3].map((i) => view.getUint8(at + i)));
}

/**
 * Return the first samples; a shorter sound is followed by zeros.
 * @param {Float32Array} samples
 * @param {number} length
 */
export function ofLength(samples, length) {
  const made = new Float32Array(length);
  made.set(samples.subarray(0, length));
  return made;
}
