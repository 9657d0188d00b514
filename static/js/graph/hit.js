// Finds the parts of a scene in view and under the pointer.
import { HEADER } from "./nesting.js";

/**
 * @typedef {import("./camera.js").Camera} Camera
 * @typedef {import("./camera.js").Size} Size
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").SceneNode} SceneNode
 * @typedef {import("./scene.js").SceneEdge} SceneEdge
 * @typedef {import("./grid.js").Bounds} Bounds
 *
 * @typedef {{nodes: SceneNode[], frames: SceneNode[], edges: SceneEdge[]}} Visible
 */

/**
 * Return the visible items of a scene that are in view.
 * @param {Scene} scene
 * @param {Camera} camera
 * @param {Size} size
 * @returns {Visible}
 */
export function inView(scene, camera, size) {
  const view = viewBox(camera, size);
  const { nodesIn, edgesIn } = scene.places;
  return {
    nodes: nodesIn(view).map((i) => scene.nodes[i]).filter(({ shown }) => shown),
    frames: scene.frames.filter((frame) => frame.shown && sees(view, frame)),
    edges: edgesIn(view).map((i) => scene.edges[i]).filter(({ shown }) => shown),
  };
}

/**
 * @param {Scene} scene
 * @param {Camera} camera
 * @param {Size} size
 * @returns {number} number of shown nodes in view
 */
export function countInView(scene, camera, size) {
  const view = viewBox(camera, size);
  let n = 0;
  for (const node of scene.nodes) if (node.shown && sees(view, node)) n += 1;
  return n;
}

/**
 * @param {Camera} camera
 * @param {Size} size
 * @returns {Bounds}
 */
export function viewBox(camera, size) {
  const w = size.width / 2 / camera.zoom;
  const h = size.height / 2 / camera.zoom;
  return [camera.x - w, camera.y - h, camera.x + w, camera.y + h];
}

/**
 * @param {Bounds} view
 * @param {{x: number, y: number, w: number, h: number}} box
 */
function sees(view, { x, y, w, h }) {
  return x - w / 2 <= view[2] && x + w / 2 >= view[0] && y - h / 2 <= view[3] && y + h / 2 >= view[1];
}

/**
 * Return the topmost item at a point: a node, a closed group, or the header of an open group.
 * @param {Scene} scene
 * @param {{x: number, y: number}} point
 * @param {number} slack tolerance around a node, in drawing units
 * @returns {SceneNode | null}
 */
export function nodeAt({ nodes, frames, places }, point, slack = 0) {
  const found = places.nodesIn(around(point, slack)).findLast((i) => nodes[i].shown);
  if (found !== undefined) return nodes[found];
  return frames.findLast((frame) => frame.shown && isIn(headerOf(frame), point)) ?? null;
}

/** Width of the part of a control-flow node that opens or closes its bodies, in drawing units. */
export const TRIANGLE = 24;

/**
 * Return whether a point is on the triangle that opens or closes the bodies of a control-flow node.
 * @param {SceneNode} node
 * @param {{x: number, y: number}} point
 */
export function isOnTriangle(node, point) {
  const { x, w } = node.open ? headerOf(node) : node;
  return point.x < x - w / 2 + TRIANGLE;
}

/**
 * Return the header of an open group.
 * @param {SceneNode} frame
 */
export function headerOf({ x, y, w, h }) {
  return { x, y: y - h / 2 + HEADER / 2, w, h: HEADER };
}

/**
 * @param {{x: number, y: number, w: number, h: number}} box
 * @param {{x: number, y: number}} point
 */
function isIn({ x, y, w, h }, point) {
  return Math.abs(point.x - x) <= w / 2 && Math.abs(point.y - y) <= h / 2;
}

/**
 * @param {{x: number, y: number}} point
 * @param {number} slack
 * @returns {Bounds}
 */
function around({ x, y }, slack) {
  return [x - slack, y - slack, x + slack, y + slack];
}
