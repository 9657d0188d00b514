// Answers of the server, parsed as JSON: by the page, or by the worker for large answers.

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {any} payload undefined for an answer that is not JSON
 */

/** Names this page among all pages that share an address: the server lets clients take turns. */
const CLIENT = Array.from(crypto.getRandomValues(new Uint32Array(3)), (n) => n.toString(36)).join("-");

/**
 * Request an answer of the server. Errors: TypeError if the server is unreachable.
 * @param {string} address
 * @param {RequestInit} [init]
 * @returns {Promise<Answer>}
 */
export async function answerTo(address, init) {
  const named = init?.method === "POST" ? { ...init, headers: { ...init.headers, "Compilarium-Client": CLIENT } } : init;
  const response = await fetch(address, named);
  return { status: response.status, payload: await response.json().catch(() => undefined) };
}
