// Judges an answer to an exercise. This is the only place that decides where: Python in the page, or a job of the
// server, whose sandbox runs the code of the answer.
import { answers } from "../server/course.js";
import { childJob } from "../jobs/child_job.js";
import { queuedWords } from "../jobs/waiting.js";
import { word } from "../text/words.js";
import { judgeInPage, NoPython, warmPython } from "./python/judge_in_page.js";

/**
 * @typedef {object} Exercise the exercise as data, as the lesson's page contains it
 * @property {string} id "LESSON/EXERCISE"
 * @property {string} kind
 * @property {string} file name of the answer's file
 * @property {string} skeleton
 * @property {Record<string, any>} [settings]
 * @property {{title: string, text: string, language: string, goals: string[]}[]} [given] texts shown with the task
 *
 * @typedef {object} JudgeRequest
 * @property {Exercise} exercise
 * @property {Record<string, string>} files the answer, by file name
 * @property {number} [seed]
 * @property {(words: string) => void} [tell] called with the progress
 *
 * @typedef {import("../wire.js").Judgement} Judgement
 */

/**
 * Judge an answer. Errors: ApiError if the server refuses the job, or the job fails.
 * @param {JudgeRequest} request
 * @returns {Promise<Judgement>}
 */
export async function judge(request) {
  if (!runsPython(request.exercise)) return judgeOnServer(request);
  try {
    return await judgeHere(request);
  } catch (problem) {
    if (problem instanceof NoPython) return judgeOnServer(request);
    throw problem;
  }
}

/**
 * Start Python for a reader who writes an answer that needs it.
 * @param {Exercise} exercise
 */
export function prepareJudge(exercise) {
  if (runsPython(exercise)) warmPython();
}

/** @param {Exercise} exercise */
function runsPython({ file }) {
  return file.endsWith(".py");
}

/** @param {JudgeRequest} request @returns {Promise<Judgement>} */
function judgeHere({ exercise, files, seed = 0, tell = () => {} }) {
  const onStage = (/** @type {string} */ stage) => tell(word(`exercise.stage-${stage}`));
  return judgeInPage({ version: 1, exercise, files, seed }, { onStage });
}

/** @param {JudgeRequest} request @returns {Promise<Judgement>} */
async function judgeOnServer({ exercise, files, seed = 0, tell = () => {} }) {
  const { done } = childJob(
    () => answers.submit(exercise.id, files, seed),
    (name, data) => {
      if (name === "queued") tell(queuedWords(data));
      else if (name === "started") tell(word("exercise.judging"));
    },
  );
  return answers.verdict((await done).id);
}
