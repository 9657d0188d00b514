// Tests of the references between scripts, templates and styles.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** @param {string} folder @param {string} ending @returns {{path: string, text: string}[]} */
function files(folder, ending) {
  return readdirSync(join(ROOT, folder), { recursive: true })
    .map(String)
    .filter((path) => path.endsWith(ending))
    .map((path) => ({
      path: `${folder}/${path}`,
      text: readFileSync(join(ROOT, folder, path), "utf8"),
    }));
}
const scripts = files("static/js", ".js");
const templates = files("templates", ".html");
const styles = files("static/css", ".css");
const script = scripts.map((each) => each.text).join("\n");
const template = templates.map((each) => each.text).join("\n");
const matches = (/** @type {string} */ text, /** @type {RegExp} */ pattern) =>
  [...text.matchAll(pattern)].map((match) => match[1]);
const words = matches(template, /data-word="([^"]+)"/g);

test("every text that scripts use is declared in the templates", () => {
  const asked = [
    ...matches(script, /\bword\(\s*"([^"]+)"/g),
    ...matches(script, /\bword\([^"()]*\? "([^"]+)" : "[^"]+"/g),
    ...matches(script, /\bword\([^"()]*\? "[^"]+" : "([^"]+)"/g),
  ];
  assert.ok(asked.length > 60);
  for (const key of asked) assert.ok(words.includes(key), key);
});

test("texts with composed keys cover all cases", () => {
  const starts = new Set(matches(script, /\bword\(\s*`([\w.-]*)\$\{/g));
  for (const start of starts)
    assert.ok(
      words.some((key) => key.startsWith(start)),
      start,
    );
  const panes = matches(script, /\{ id: "(\w+)", group: /g);
  assert.ok(panes.length > 15);
  for (const pane of panes)
    for (const key of [`pane.${pane}`, `pane-title.${pane}`]) assert.ok(words.includes(key), key);
  for (const family of [
    "contraction",
    "elementwise",
    "reduction",
    "movement",
    "view",
    "scan",
    "control",
    "opaque",
    "input",
    "result",
  ])
    assert.ok(words.includes(`family.${family}`), family);
});

test("no text is declared twice, and no text is unused", () => {
  assert.equal(new Set(words).size, words.length);
  const starts = [...new Set(matches(script, /`([\w-]+\.)\$\{/g))];
  const quoted = new Set(matches(script, /"([\w.-]+)"/g));
  for (const key of words)
    assert.ok(quoted.has(key) || starts.some((start) => key.startsWith(start)), key);
});

test("every template that scripts copy exists", () => {
  const ids = matches(template, /<template id="([^"]+)"/g);
  for (const id of matches(script, /\bclone\("([^"]+)"\)/g)) assert.ok(ids.includes(id), id);
});

test("every part that scripts query is in a template", () => {
  const parts = new Set(matches(template, /data-part="([^"]+)"/g));
  for (const name of matches(script, /\bpart(?:Of)?\(\s*\w+,\s*"([^"]+)"/g))
    assert.ok(parts.has(name), name);
});

test("data never becomes markup", () => {
  for (const { path, text } of scripts)
    assert.doesNotMatch(
      text,
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
      path,
    );
});

test("templates contain no inline script, style or handler", () => {
  // A report is one file: its policy has the digests of the embedded script and style.
  for (const { path, text } of templates.filter((each) => !each.path.endsWith("report.html")))
    // A block of JSON is data: browsers do not execute it, and the policy of the server permits it.
    assert.doesNotMatch(text, /\sstyle="|\son\w+="|<style|<script(?! type="(?:module" src=|application\/json"))/, path);
});

test("only tokens.css contains colours", () => {
  for (const { path, text } of styles) {
    if (path.endsWith("tokens.css")) continue;
    const plain = text
      .replace(/oklch\(var\(--family-tone\) \d+\)/g, "")
      .replace(/oklch\(15% 0\.02 250\)/g, "");
    assert.doesNotMatch(plain, /#[0-9a-f]{3,8}\b|\brgba?\(|\bhsla?\(|\boklch\(/i, path);
  }
  for (const { path, text } of scripts)
    assert.doesNotMatch(text, /["'`](?:#[0-9a-fA-F]{3,8}|rgba?\(|hsla?\(|oklch\()/, path);
});

test("no pane imports the entry point of the page", () => {
  for (const { path, text } of scripts.filter((each) => each.path.includes("/panes/"))) {
    for (const from of matches(text, /from "(?:\.\.\/)+(\w+)\.js"/g))
      assert.notEqual(from, "main", path);
  }
});

test("the page loads nothing from other servers", () => {
  for (const { path, text } of [...scripts, ...templates, ...styles])
    // The name of SVG's namespace looks like a URL but is never requested.
    assert.doesNotMatch(text, /https?:\/\/(?!www\.w3\.org\/2000\/svg)|@import url/, path);
});
