// Answers of the server, parsed as JSON: on the page, or in the worker for large ones.

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {any} payload undefined when it is not JSON
 */

/**
 * Errors: TypeError when the server is unreachable.
 * @param {string} address
 * @param {RequestInit} [init]
 * @returns {Promise<Answer>}
 */
export async function answerTo(address, init) {
  const response = await fetch(address, init);
  return { status: response.status, payload: await response.json().catch(() => undefined) };
}
