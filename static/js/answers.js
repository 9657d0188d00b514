// What the server answers, read as JSON: by the page, or by the worker that reads what may be large.

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {any} payload undefined when it is not JSON
 */

/**
 * Errors: TypeError when the server is not reached.
 * @param {string} address
 * @param {RequestInit} [init]
 * @returns {Promise<Answer>}
 */
export async function answerTo(address, init) {
  const response = await fetch(address, init);
  return { status: response.status, payload: await response.json().catch(() => undefined) };
}
