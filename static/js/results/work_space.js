// Buffers that hold no value of the graph, but the work space of one launch.

/**
 * Return the launch whose work space a buffer is, and the name of the stored stage; null for a buffer of values.
 * @param {import("../wire.js").Buffer} buffer
 * @param {import("../wire.js").Kernel[]} kernels
 * @returns {{kernel: string, stage: string} | null}
 */
export function workSpaceOf({ name, values, start, end }, kernels) {
  const [, number, stage] = /^(\d+):(.+)$/.exec(name) ?? [];
  const isOwn = values.length === 1 && values[0] === name;
  if (stage === undefined || !isOwn || Number(number) !== start || end !== start + 1) return null;
  const launch = kernels.filter(({ inside }) => inside === null)[start];
  return launch ? { kernel: launch.name, stage } : null;
}
