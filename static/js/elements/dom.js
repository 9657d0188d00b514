// Functions to create and find elements. Data enters the page as text, never as markup.
import { noteText } from "../text/terms.js";

/**
 * @typedef {Record<string, unknown>} Properties
 * @typedef {Node | string | number | null | undefined | false} Child
 */

/**
 * Create an element. `class`, `data-*`, `aria-*`, `role` and `for` become attributes, `onNAME` becomes
 * a listener, and any other key becomes a property.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Properties} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (name in element && !name.includes("-") && name !== "role") {
      /** @type {any} */ (element)[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

/**
 * @param {Element} parent
 * @param {Child[]} children
 */
export function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Copy the content of the template with this id.
 * @param {string} id
 * @returns {DocumentFragment}
 */
export function clone(id) {
  const template = document.getElementById(id);
  if (!(template instanceof HTMLTemplateElement)) throw new Error(`the page has no template ${id}`);
  const copy = /** @type {DocumentFragment} */ (template.content.cloneNode(true));
  const texts = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) noteText(texts.currentNode.nodeValue ?? "");
  return copy;
}

/**
 * Find the element below `root` with `data-part="name"`.
 * @param {ParentNode} root
 * @param {string} name
 * @returns {HTMLElement}
 */
export function part(root, name) {
  const found = root.querySelector(`[data-part="${name}"]`);
  if (!(found instanceof HTMLElement)) throw new Error(`no part ${name}`);
  return found;
}

/**
 * Find a part that is an element of a class: `partOf(root, "file", HTMLInputElement)`.
 * @template {HTMLElement} T
 * @param {ParentNode} root
 * @param {string} name
 * @param {new () => T} type
 * @returns {T}
 */
export function partOf(root, name, type) {
  const found = part(root, name);
  if (!(found instanceof type)) throw new Error(`part ${name} is a ${found.tagName}`);
  return found;
}

/**
 * Replace the children of an element. Children in the common prefix of the old and new lists are not
 * moved, so they keep layout and focus.
 * @param {Element} parent
 * @param {Element[]} children
 */
export function putChildren(parent, children) {
  let kept = 0;
  while (kept < children.length && parent.childNodes[kept] === children[kept]) kept += 1;
  while (parent.childNodes.length > kept) parent.lastChild?.remove();
  parent.append(...children.slice(kept));
}

/** Whether the page is in a frame of another page. */
export const isFramed = () => globalThis.window !== undefined && window.parent !== window;

/**
 * Scroll an element into view. In a frame, only the boxes of this page scroll: the browser would also scroll
 * the page around the frame, under the eyes of its reader.
 * @param {Element} element
 */
export function bringIntoView(element) {
  if (!isFramed()) return element.scrollIntoView({ block: "nearest" });
  const { scrollMarginTop, scrollMarginBottom } = getComputedStyle(element);
  for (let box = element.parentElement; box; box = box.parentElement) {
    if (!/auto|scroll/.test(getComputedStyle(box).overflowY)) continue;
    const inner = element.getBoundingClientRect();
    const outer = box.getBoundingClientRect();
    const above = inner.top - (parseFloat(scrollMarginTop) || 0) - outer.top;
    const below = inner.bottom + (parseFloat(scrollMarginBottom) || 0) - outer.bottom;
    box.scrollTop += above < 0 ? above : Math.max(0, Math.min(above, below));
  }
}

/**
 * Scroll an element into view with the next frame, which lays out the page anyway; scrolling at once
 * would force a second layout.
 * @param {Element | null | undefined} element
 */
export function revealSoon(element) {
  if (element) requestAnimationFrame(() => bringIntoView(element));
}

/**
 * Return the closest element at or above an event's target that matches a selector.
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export function closest(event, selector) {
  const target = event.target;
  if (!(target instanceof Element)) return null;
  const found = target.closest(selector);
  return found instanceof HTMLElement ? found : null;
}

/**
 * Add listeners; the returned function removes them.
 * @param {EventTarget} target
 * @param {Record<string, (event: any) => void>} listeners
 * @param {AddEventListenerOptions} [options]
 * @returns {() => void}
 */
export function listen(target, listeners, options) {
  for (const [name, fn] of Object.entries(listeners)) target.addEventListener(name, fn, options);
  return () => {
    for (const [name, fn] of Object.entries(listeners))
      target.removeEventListener(name, fn, options);
  };
}

/** @param {string} text announced to screen readers */
export function announce(text) {
  const place = document.getElementById("announce");
  if (place) place.textContent = text;
}

/**
 * Bring the result of the user's action into view, and announce its first sentence.
 * @param {Element} result
 * @param {Element | null} sentence
 */
export function presentResult(result, sentence = result.firstElementChild) {
  revealSoon(result);
  announce(sentence?.textContent ?? "");
}
