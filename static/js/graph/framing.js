// Chooses the camera: for the initial view, for nodes, for changes. Pure functions, in drawing units.
import { fit, reveal, toScreen } from "./camera.js";

/**
 * @typedef {import("./camera.js").Camera} Camera
 * @typedef {import("./camera.js").Size} Size
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").SceneNode} SceneNode
 */

/** The smallest zoom at which the initial view is legible. */
const READABLE_ZOOM = 0.9;
/** The smallest zoom at which a single node's text is legible. */
const NAMED_ZOOM = 0.8;
const BORDER = 36;

/**
 * Return the nodes that the pass changed, from top to bottom.
 * @param {Scene} scene
 * @returns {SceneNode[]}
 */
export function markedNodes(scene) {
  const isMarked = (/** @type {SceneNode} */ { open, id, status }) =>
    open ? (scene.states.get(id)?.status ?? "same") !== "same" : status !== "same";
  return [...scene.nodes, ...scene.frames]
    .filter((node) => node.shown && isMarked(node))
    .sort((a, b) => a.y - b.y || a.x - b.x);
}

/** @param {Scene} scene */
function wholeOf(scene) {
  return { x: scene.width / 2, y: scene.height / 2, w: scene.width, h: scene.height };
}

/**
 * Return the camera that shows the whole drawing.
 * @param {Scene} scene
 * @param {Size} size
 * @returns {Camera}
 */
export function wholeLook(scene, size) {
  return fit(wholeOf(scene), size);
}

/**
 * Return the initial camera. It shows the whole drawing if legible, else these nodes, the changes, or the top.
 * @param {Scene} scene
 * @param {Size} size
 * @param {Set<string>} keys
 * @returns {Camera}
 */
export function firstLook(scene, size, keys) {
  const whole = wholeLook(scene, size);
  if (whole.zoom >= READABLE_ZOOM || scene.nodes.length === 0) return whole;
  const wanted = keys.size
    ? keys
    : markedNodes(scene)
        .slice(0, 1)
        .map((node) => node.key);
  const top = scene.nodes
    .filter((node) => node.shown)
    .reduce((a, b) => (b.y < a.y ? b : a), scene.nodes[0]);
  const aim = boxOfKeys(scene, wanted) ?? { x: top.x, y: 0 };
  // Avoid empty space at the edges.
  const zoom = READABLE_ZOOM;
  const half = size.height / 2 / zoom - BORDER;
  const y =
    scene.height < 2 * half
      ? scene.height / 2
      : Math.min(Math.max(aim.y, half), scene.height - half);
  const x = scene.width * zoom < size.width - 2 * BORDER ? scene.width / 2 : aim.x;
  return { x, y, zoom };
}

/**
 * Return whether the centre of any of these nodes is in view.
 * @param {Scene} scene
 * @param {Camera} camera
 * @param {Size} size
 * @param {Iterable<string>} keys
 */
export function seesAny(scene, camera, size, keys) {
  for (const key of keys) {
    const node = scene.byKey.get(key);
    if (!node) continue;
    const at = toScreen(camera, size, node);
    if (at.x > 0 && at.y > 0 && at.x < size.width && at.y < size.height) return true;
  }
  return false;
}

/**
 * Return the anchor of the view: the first of these nodes that is drawn, else the node nearest to the centre.
 * @param {Scene} scene
 * @param {Camera} camera
 * @param {Iterable<string>} keys
 * @returns {{id: string, x: number, y: number} | null} identified by id, because keys differ between drawings
 */
export function anchorOf(scene, camera, keys) {
  for (const key of keys) {
    const node = scene.byKey.get(key);
    if (node?.shown) return { id: node.ids[0], x: node.x, y: node.y };
  }
  const far = (/** @type {SceneNode} */ node) => Math.hypot(node.x - camera.x, node.y - camera.y);
  const shown = scene.nodes.filter((node) => node.shown);
  if (shown.length === 0) return null;
  const node = shown.reduce((a, b) => (far(b) < far(a) ? b : a));
  return { id: node.ids[0], x: node.x, y: node.y };
}

/**
 * Return the camera after the minimal move that brings nodes into view.
 * @param {Scene} scene
 * @param {Camera} camera
 * @param {Size} size
 * @param {Iterable<string>} keys
 * @returns {Camera}
 */
export function lookAtNodes(scene, camera, size, keys) {
  const box = boxOfKeys(scene, keys);
  if (!box) return camera;
  const zoom = Math.max(camera.zoom, Math.min(NAMED_ZOOM, fit(box, size).zoom));
  return reveal({ ...camera, zoom }, size, box);
}

/**
 * Return the camera that centres nodes; null without nodes.
 * @param {Scene} scene
 * @param {Size} size
 * @param {Iterable<string>} keys
 * @returns {Camera | null}
 */
export function centeredLook(scene, size, keys) {
  const box = boxOfKeys(scene, keys);
  if (!box) return null;
  return { x: box.x, y: box.y, zoom: Math.min(1, Math.max(fit(box, size).zoom, READABLE_ZOOM)) };
}

/**
 * Return the bounding box of some nodes; null without nodes.
 * @param {Scene} scene
 * @param {Iterable<string>} keys
 * @returns {import("./camera.js").Box | null}
 */
export function boxOfKeys(scene, keys) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const key of keys) {
    const node = scene.byKey.get(key);
    if (!node) continue;
    left = Math.min(left, node.x - node.w / 2);
    top = Math.min(top, node.y - node.h / 2);
    right = Math.max(right, node.x + node.w / 2);
    bottom = Math.max(bottom, node.y + node.h / 2);
  }
  return right < left
    ? null
    : { x: (left + right) / 2, y: (top + bottom) / 2, w: right - left, h: bottom - top };
}
