// Answers of the server, parsed as JSON: by the page, or by the worker for large answers.

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {any} payload undefined for an answer that is not JSON
 */

/**
 * Request an answer of the server. Errors: TypeError if the server is unreachable.
 * @param {string} address
 * @param {RequestInit} [init]
 * @returns {Promise<Answer>}
 */
export async function answerTo(address, init) {
  const response = await fetch(address, init);
  return { status: response.status, payload: await response.json().catch(() => undefined) };
}
