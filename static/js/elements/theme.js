// The theme (light, dark, or the theme of the system) and its colours for canvases.
import { FAMILIES } from "./families.js";

const STORED = "compilarium.theme";

/** @typedef {"light" | "dark"} Theme */

/** @returns {Theme} */
export function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Switch to the other theme; the system's own theme clears the stored choice. */
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

/** Apply the stored choice, and follow changes of the system's theme. */
export function startTheme() {
  applyStored();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    document.dispatchEvent(new CustomEvent("themechange")),
  );
}

/** Follow the theme that the reader chooses in other pages of this site, such as the page around a frame. */
export function followTheme() {
  addEventListener("storage", ({ key }) => {
    if (key !== STORED && key !== null) return;
    applyStored();
    document.dispatchEvent(new CustomEvent("themechange"));
  });
}

function applyStored() {
  const stored = localStorage.getItem(STORED);
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
  else delete document.documentElement.dataset.theme;
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
 * @property {Record<import("../graph/scene.js").Status, string>} status
 * @property {{stroke: string, fill: string}} fallback
 * @property {Record<string, {stroke: string, fill: string}>} family
 * @property {import("../graph/draw.js").Paint[]} heat from high to low
 * @property {import("../graph/draw.js").Paint[]} hue one colour for each kind
 * @property {string} sans
 */

/** Share of the heat colour in the colour of each class, in percent. */
export const HEAT = [72, 46, 28, 15, 6];

/** @type {{theme: Theme, colors: Colors} | null} */
let known = null;

/**
 * Return the colours of the theme in force, resolved by the browser.
 * @returns {Colors}
 */
export function colors() {
  const theme = currentTheme();
  if (known?.theme === theme) return known.colors;
  // Insert all probes before reading any: the browser then recomputes the styles only once.
  /** @type {Map<string, HTMLElement>} */
  const probes = new Map();
  const box = document.createElement("i");
  namedColors((css) => {
    const probe = document.createElement("i");
    probe.style.color = css;
    probes.set(css, probe);
    return css;
  });
  box.append(...probes.values());
  document.body.append(box);
  const found = namedColors((css) => getComputedStyle(/** @type {HTMLElement} */ (probes.get(css))).color);
  box.remove();
  known = { theme, colors: found };
  document.documentElement.dataset.painted = theme;
  return found;
}

/**
 * @param {(css: string) => string} color resolves a CSS colour
 * @returns {Colors}
 */
function namedColors(color) {
  const onSurface = (/** @type {string} */ name, /** @type {number} */ percent) =>
    color(`color-mix(in oklab, var(--${name}) ${percent}%, var(--surface))`);
  /** @type {Colors["family"]} */
  const family = {};
  for (const name of FAMILIES)
    family[name] = { stroke: color(`var(--family-${name})`), fill: onSurface(`family-${name}`, 16) };
  return {
    paper: color("var(--paper)"),
    ink: color("var(--ink)"),
    muted: color("var(--ink-muted)"),
    line: color("var(--line)"),
    lineStrong: color("var(--line-strong)"),
    surface: color("var(--surface)"),
    accent: color("var(--accent)"),
    selected: color("var(--selected)"),
    status: {
      added: color("var(--added)"),
      removed: color("var(--removed)"),
      changed: color("var(--changed)"),
      refined: color("var(--refined)"),
      same: color("var(--line-strong)"),
    },
    fallback: { stroke: color("var(--fallback)"), fill: color("var(--fallback-wash)") },
    family,
    hue: FAMILIES.filter((name) => !["input", "result"].includes(name)).map((name) => family[name]),
    heat: HEAT.map((percent, i) => ({
      fill: onSurface("heat", percent),
      stroke: color(`color-mix(in oklab, var(--heat) ${100 - 12 * i}%, var(--ink-muted))`),
      strong: onSurface("heat", 100 - 17 * i),
    })),
    sans: getComputedStyle(document.body).fontFamily,
  };
}
