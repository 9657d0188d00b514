// Matches the kernels of two compilations of one model: first the kernels with the same ONNX nodes, then
// the kernels that share most nodes.

/**
 * @typedef {import("../wire.js").Kernel} Kernel
 *
 * @typedef {object} KernelPair
 * @property {Kernel | null} a
 * @property {Kernel | null} b
 * @property {number} shared number of ONNX nodes in both kernels
 * @property {number} all number of ONNX nodes in at least one of them
 * @property {Kernel | null} elsewhere for a kernel without a partner: the kernel of the other compilation
 *   with most of its nodes
 * @property {{a: Kernel[], b: Kernel[]}} more further kernels of a side that divides the work of one kernel of
 *   the other side
 */

/**
 * Return pairs of kernels, each kernel once: pairs with a kernel of A in the order of A, then kernels only in B.
 * @param {Kernel[]} a
 * @param {Kernel[]} b
 * @returns {KernelPair[]}
 */
export function pairKernels(a, b) {
  /** @type {Map<Kernel, Kernel>} kernel of A -> its partner in B */
  const partners = new Map();
  const free = new Set(b);
  const join = (/** @type {Kernel} */ x, /** @type {Kernel} */ y) => {
    partners.set(x, y);
    free.delete(y);
  };
  // A node may give several kernels: first match kernels with the same operator.
  for (const keyOf of [(/** @type {Kernel} */ k) => `${k.op}\0${nodesOf(k)}`, nodesOf]) {
    const waiting = grouped([...free], keyOf);
    for (const kernel of a) {
      const partner = partners.has(kernel) ? undefined : waiting.get(keyOf(kernel))?.shift();
      if (partner) join(kernel, partner);
    }
  }
  const users = usersOf(b);
  const candidates = a
    .filter((kernel) => !partners.has(kernel))
    .flatMap((kernel) => overlaps(kernel, users).filter(({ other }) => free.has(other)));
  for (const { kernel, other } of candidates.sort(closer))
    if (!partners.has(kernel) && free.has(other)) join(kernel, other);
  const makers = usersOf(a);
  const alone = [
    ...a.filter((kernel) => !partners.has(kernel)).map((kernel) => ({ ...pairOf(kernel, null), elsewhere: most(kernel, users) })),
    ...[...free].map((kernel) => ({ ...pairOf(null, kernel), elsewhere: most(kernel, makers) })),
  ];
  return [
    ...a.map((kernel) => {
      const partner = partners.get(kernel);
      if (!partner) return alone.find((pair) => pair.a === kernel) ?? pairOf(kernel, null);
      return { ...pairOf(kernel, partner), more: completing(kernel, partner, alone) };
    }),
    ...alone.filter(({ b: kernel }) => kernel),
  ];
}

/**
 * Return the unmatched kernels that complete the smaller side of a pair; none unless both sides then have
 * the same ONNX nodes.
 * @param {Kernel} a
 * @param {Kernel} b
 * @param {KernelPair[]} alone
 * @returns {KernelPair["more"]}
 */
function completing(a, b, alone) {
  const partsOf = (/** @type {Kernel} */ whole, /** @type {"a" | "b"} */ side) =>
    alone.flatMap((pair) => (pair[side] && pair.elsewhere === whole ? [pair[side]] : []));
  const isComplete = (/** @type {Kernel} */ whole, /** @type {Kernel[]} */ parts) =>
    nodesOf(whole) === nodesOf({ ...whole, origins: parts.flatMap(({ origins }) => origins) });
  const more = { a: partsOf(b, "a"), b: partsOf(a, "b") };
  return {
    a: isComplete(b, [a, ...more.a]) ? more.a : [],
    b: isComplete(a, [b, ...more.b]) ? more.b : [],
  };
}

/**
 * Return the pair of the chosen kernels; one of the two may be absent.
 * @param {Kernel | null} a
 * @param {Kernel | null} b
 * @returns {KernelPair}
 */
export function pairOf(a, b) {
  const [x, y] = [a, b].map((each) => new Set(each?.origins));
  const shared = [...x].filter((name) => y.has(name)).length;
  return { a, b, shared, all: x.size + y.size - shared, elsewhere: null, more: { a: [], b: [] } };
}

/**
 * Return the slowest pair with code in both compilations, or else the first pair.
 * @param {KernelPair[]} pairs
 * @returns {KernelPair | undefined}
 */
export function longestPair(pairs) {
  const seconds = (/** @type {Kernel | null} */ each) => each?.median_s ?? each?.predicted_s ?? 0;
  const time = (/** @type {KernelPair} */ { a, b }) => Math.max(seconds(a), seconds(b));
  const coded = pairs.filter(({ a, b }) => a?.parts.length && b?.parts.length);
  return [...coded].sort((x, y) => time(y) - time(x))[0] ?? pairs[0];
}

/**
 * Return the times of one side of a pair, summed over its kernels; null if a kernel was not timed.
 * @param {KernelPair} pair
 * @param {"a" | "b"} side
 * @returns {{median_s: number, low_s: number, high_s: number} | null}
 */
export function timesOf({ a, b, more }, side) {
  const first = side === "a" ? a : b;
  const sum = { median_s: 0, low_s: 0, high_s: 0 };
  for (const each of first ? [first, ...more[side]] : [null]) {
    if (each?.median_s == null || each.low_s === null || each.high_s === null) return null;
    sum.median_s += each.median_s;
    sum.low_s += each.low_s;
    sum.high_s += each.high_s;
  }
  return sum;
}

/** Return the key of a kernel: its ONNX nodes, or its name if it has none. @param {Kernel} kernel */
function nodesOf({ origins, name }) {
  return origins.length ? [...new Set(origins)].sort().join("\n") : `\n${name}`;
}

/**
 * @param {Kernel[]} kernels
 * @param {(kernel: Kernel) => string} keyOf
 */
function grouped(kernels, keyOf) {
  /** @type {Map<string, Kernel[]>} */
  const groups = new Map();
  for (const each of kernels) groups.set(keyOf(each), [...(groups.get(keyOf(each)) ?? []), each]);
  return groups;
}

/** Return the kernels of each ONNX node. @param {Kernel[]} kernels */
function usersOf(kernels) {
  /** @type {Map<string, Kernel[]>} */
  const users = new Map();
  for (const kernel of kernels)
    for (const name of new Set(kernel.origins)) users.set(name, [...(users.get(name) ?? []), kernel]);
  return users;
}

/**
 * @typedef {{kernel: Kernel, other: Kernel, shared: number, all: number}} Overlap
 *
 * @param {Kernel} kernel
 * @param {Map<string, Kernel[]>} users kernels of the other compilation, by ONNX node
 * @returns {Overlap[]}
 */
function overlaps(kernel, users) {
  const others = new Set(kernel.origins.flatMap((name) => users.get(name) ?? []));
  return [...others].map((other) => {
    const { shared, all } = pairOf(kernel, other);
    return { kernel, other, shared, all };
  });
}

/** @param {Kernel} kernel @param {Map<string, Kernel[]>} users */
function most(kernel, users) {
  return overlaps(kernel, users).sort(closer)[0]?.other ?? null;
}

/**
 * Order overlaps: more shared nodes first, then fewer other nodes, then more work in the smaller kernel.
 * If only one compilation fuses a chain, this order selects the kernel with most work.
 * @param {Overlap} x
 * @param {Overlap} y
 */
function closer(x, y) {
  const work = (/** @type {Overlap} */ { kernel, other }) => Math.min(kernel.flops, other.flops);
  return (
    y.shared - x.shared ||
    x.all - y.all ||
    work(y) - work(x) ||
    x.kernel.kernel - y.kernel.kernel ||
    x.other.kernel - y.other.kernel
  );
}
