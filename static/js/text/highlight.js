// Highlights code line by line: comments (and reasons), keywords, types, numbers, names, labels, vectors.

/** @typedef {[kind: string, text: string]} Token kind "" for plain text */

/** @type {Record<string, RegExp>} */
const GRAMMARS = {
  written: new RegExp(
    [
      "(?<comment>#.*$|//.*$)",
      '(?<label>"[^"]*"?)',
      "(?<keyword>\\b(?:def|return|for|in|range|if|else|graph|const)\\b)",
      "(?<type>\\b(?:f16|f32|f64|bf16|bool|[iu](?:8|16|32|64))\\b)",
      "(?<number>-?\\b\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?\\b)",
    ].join("|"),
    "g",
  ),
  llvm: new RegExp(
    [
      "(?<comment>;.*$)",
      "(?<vector><\\s*\\d+\\s+x\\s+\\w+>)",
      "(?<label>^[\\w.$-]+:)",
      '(?<name>[%@][\\w.$-]+|[%@]"[^"]*")',
      "(?<keyword>\\b(?:define|declare|ret|br|label|switch|phi|freeze|load|store|getelementptr|inbounds|call|tail|musttail|fadd|fsub|fmul|fdiv|fneg|fcmp|icmp|add|sub|mul|[su]div|[su]rem|shl|lshr|ashr|and|or|xor|select|zext|sext|trunc|fpext|fptrunc|[su]itofp|fpto[su]i|bitcast|inttoptr|ptrtoint|alloca|insertelement|extractelement|shufflevector|splat|unreachable|attributes|target|source_filename|private|internal|noalias|nocapture|readonly|align|nuw|nsw|fast|contract|reassoc|nnan|ninf|nsz|arcp|afn)\\b)",
      "(?<type>\\b(?:i\\d+|half|bfloat|float|double|void|ptr)\\b\\*?)",
      "(?<number>-?\\b(?:0x[0-9A-Fa-f]+|\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?)\\b)",
    ].join("|"),
    "g",
  ),
  asm: new RegExp(
    [
      "(?<comment>(?:#(?![-\\d])|//|;).*$)",
      "(?<label>^[\\w.$@]+:)",
      "(?<type>^\\s*\\.[\\w.]+)",
      "(?<vector>%?\\b(?:[xyz]mm\\d+|tmm\\d|[vqz]\\d+(?:\\.\\d*[bhsd])?)\\b|\\{%?k\\d\\}(?:\\{z\\})?)",
      "(?<keyword>^\\s+[a-z][\\w.]*)",
      "(?<name>%\\w+|\\b(?:r[abcd]x|r[sd]i|r[sb]p|r\\d+[dwb]?|e[abcd]x|e[sd]i|e[sb]p|[abcd]l|rip|[xw]\\d+|sp|lr)\\b)",
      "(?<number>[$#]?-?\\b(?:0x[0-9A-Fa-f]+|\\d+)\\b)",
    ].join("|"),
    "g",
  ),
  loops: new RegExp(
    [
      '(?<comment>#.*$|"[^"]*")',
      "(?<keyword>\\b(?:kernel|for|in|range|if|else|let|store|load|alloc|parallel|vector|unroll|fma|stage|reduce|sum|max|min|over|axis|axes|call|return|micro)\\b)",
      "(?<type>\\b(?:f16|f32|f64|bf16|bool|[iu](?:8|16|32|64))\\b)",
      "(?<number>-?\\b(?:0x[0-9A-Fa-f]+|\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?)\\b)",
    ].join("|"),
    "g",
  ),
};
GRAMMARS.computation = GRAMMARS.loops;
GRAMMARS.schedule = GRAMMARS.loops;

/**
 * Split a line into tokens; their concatenation is the line.
 * @param {string} language a level of a kernel's code; an unknown language gives one plain token
 * @param {string} line
 * @returns {Token[]}
 */
export function highlight(language, line) {
  const grammar = GRAMMARS[language];
  // Lines of thousands of characters are not highlighted.
  if (!grammar || line.length > 1000) return [["", line]];
  /** @type {Token[]} */
  const tokens = [];
  let end = 0;
  for (const match of line.matchAll(grammar)) {
    if (match.index > end) tokens.push(["", line.slice(end, match.index)]);
    const kind =
      Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0] ?? "";
    tokens.push([kind, match[0]]);
    end = match.index + match[0].length;
  }
  if (end < line.length) tokens.push(["", line.slice(end)]);
  return tokens;
}
