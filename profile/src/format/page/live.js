// ---- The bar of a page that follows a program ----
//
// The page asks for a newer profile again and again. A page that is closed or hidden asks for none, and then the
// program makes none.

const POLL_MS = 1000;
// A large profile takes long to show. The page must leave time for the reader's clicks.
const REST_FACTOR = 4;
const TEXTS = {
  live: "live",
  paused: "paused",
  left: "not watched any more",
  ended: "the program has ended",
  lost: "loadhook serve has ended",
};

let state = JSON.parse($("state").textContent);
let answered = performance.now(); // the time of the last answer
let polling;

/** Returns whether the agent watches; orders are then possible. */
const isWatched = () => state.state === "live" || state.state === "paused";

function ageText() {
  const seconds = Math.round((state.age_ms + performance.now() - answered) / 1000);
  return seconds < 2 ? "now" : seconds < 120 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
}

function showState() {
  const said = $("live-state");
  said.dataset.state = state.state;
  const text = state.state === "live" ? `${TEXTS.live} · ${ageText()}` : `${TEXTS[state.state]} · profile taken ${ageText()}`;
  if (said.textContent !== text) said.textContent = text;
  $("live-pause").textContent = state.state === "paused" ? "Resume" : "Pause";
  $("live-pause").disabled = !isWatched();
  $("live-stop").textContent = state.state === "left" ? "Watch again" : "Stop watching";
  $("live-stop").disabled = !isWatched() && state.state !== "left";
  for (const part of $("live-filter").elements) part.disabled = !isWatched();
  $("live-watched").textContent = state.watched;
}

function say(text, isRefused = false) {
  $("live-said").textContent = text;
  $("live-said").classList.toggle("refused", isRefused);
}

/** Takes an answer of the server: the state, and a profile if there is a newer one. */
function take(answer) {
  const begun = performance.now();
  answered = begun;
  const { measures: newer, ...rest } = answer;
  if (state.problem !== rest.problem) say(rest.problem ?? "", true);
  state = rest;
  if (newer) replaceData(newer);
  showState();
  return performance.now() - begun;
}

async function poll() {
  clearTimeout(polling);
  // The second click of a double click must meet the same graph as the first.
  if (performance.now() - lastClick.time < DOUBLE_MS) return pollAfter(DOUBLE_MS);
  const answer = await newest();
  const cost = answer ? take(answer) : 0;
  if (!answer) {
    state = { ...state, state: "lost" };
    showState();
  }
  pollAfter(Math.max(POLL_MS, REST_FACTOR * cost));
}

/** Returns the server's answer; null if there is none. */
async function newest() {
  try {
    const answer = await fetch(`profile?after=${state.number}`, { cache: "no-store" });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function pollAfter(ms) {
  clearTimeout(polling);
  if (!document.hidden) polling = setTimeout(poll, ms);
}

/** Sends an order to an address of the server, and shows the reply. */
async function send(address, order) {
  clearTimeout(polling);
  say("…");
  try {
    const answer = await fetch(address, { method: "POST", body: JSON.stringify(order) });
    const { said, isRefused } = await answer.json();
    say(said, isRefused);
  } catch {
    say("loadhook serve does not answer; start it again if it has ended", true);
  }
  poll();
}

// Sends an order in the form of the control protocol, see docs/user/control.md.
const give = (order, fields = {}) => send("order", { version: 1, order, ...fields });

$("live-pause").addEventListener("click", () => give(state.state === "paused" ? "resume" : "pause"));
$("live-stop").addEventListener("click", () => (state.state === "left" ? send("attach", {}) : give("detach")));
$("live-filter").addEventListener("submit", (event) => {
  event.preventDefault();
  give(event.submitter?.name ?? "include", { pattern: $("live-patterns").value });
});
document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(polling) : poll()));
setInterval(showState, POLL_MS);
showState();
pollAfter(POLL_MS);
