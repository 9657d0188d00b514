// The theme: light, dark, or as the system says; and its colours for what is drawn on a canvas.
import { FAMILIES } from "./graph/families.js";

const STORED = "compilarium.theme";

/** @typedef {"light" | "dark"} Theme */

/** @returns {Theme} */
export function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Switches to the other theme; back at the system's own, nothing is stored any more. */
export function toggleTheme() {
  const next = currentTheme() === "dark" ? "light" : "dark";
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  if (next === system) {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem(STORED);
  } else {
    document.documentElement.dataset.theme = next;
    localStorage.setItem(STORED, next);
  }
  document.dispatchEvent(new CustomEvent("themechange"));
}

/** Applies what was chosen before, and tells when the system changes its mind. */
export function startTheme() {
  const stored = localStorage.getItem(STORED);
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    document.dispatchEvent(new CustomEvent("themechange")),
  );
}

/**
 * @typedef {object} Colors
 * @property {string} paper
 * @property {string} ink
 * @property {string} muted
 * @property {string} line
 * @property {string} lineStrong
 * @property {string} surface
 * @property {string} accent
 * @property {string} selected
 * @property {{added: string, removed: string, changed: string, same: string}} status
 * @property {{stroke: string, fill: string}} fallback
 * @property {Record<string, {stroke: string, fill: string}>} family
 * @property {import("./graph/draw.js").Paint[]} heat from much to little
 * @property {import("./graph/draw.js").Paint[]} hue one for each kind
 * @property {string} sans
 */

/** How much of the colour of heat is in a class, in percent. */
export const HEAT = [72, 46, 28, 15, 6];

/** @type {{theme: Theme, colors: Colors} | null} */
let known = null;

/**
 * The colours of the theme in force, resolved by the browser.
 * @returns {Colors}
 */
export function colors() {
  const theme = currentTheme();
  if (known?.theme === theme) return known.colors;
  const probe = document.createElement("i");
  document.body.append(probe);
  const resolve = (/** @type {string} */ value) => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };
  /** @type {Colors["family"]} */
  const family = {};
  for (const name of FAMILIES) {
    family[name] = {
      stroke: resolve(`var(--family-${name})`),
      fill: resolve(`color-mix(in oklab, var(--family-${name}) 16%, var(--surface))`),
    };
  }
  const heat = HEAT.map((percent, i) => ({
    fill: resolve(`color-mix(in oklab, var(--heat) ${percent}%, var(--surface))`),
    stroke: resolve(`color-mix(in oklab, var(--heat) ${100 - 12 * i}%, var(--ink-muted))`),
    strong: resolve(`color-mix(in oklab, var(--heat) ${100 - 17 * i}%, var(--surface))`),
  }));
  const found = {
    heat,
    hue: FAMILIES.filter((name) => !["input", "result"].includes(name)).map((name) => family[name]),
    paper: resolve("var(--paper)"),
    ink: resolve("var(--ink)"),
    muted: resolve("var(--ink-muted)"),
    line: resolve("var(--line)"),
    lineStrong: resolve("var(--line-strong)"),
    surface: resolve("var(--surface)"),
    accent: resolve("var(--accent)"),
    selected: resolve("var(--selected)"),
    status: {
      added: resolve("var(--added)"),
      removed: resolve("var(--removed)"),
      changed: resolve("var(--changed)"),
      same: resolve("var(--line-strong)"),
    },
    fallback: { stroke: resolve("var(--fallback)"), fill: resolve("var(--fallback-wash)") },
    family,
    sans: getComputedStyle(document.body).fontFamily,
  };
  probe.remove();
  known = { theme, colors: found };
  return found;
}
