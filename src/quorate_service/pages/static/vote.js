// The voting page: shows one item, preloads the next one, sends votes in the background.

import { Outbox, isSignedOut } from "./outbox.js";
import { Zoom } from "./zoom.js";

const root = document.querySelector("[data-vote]");
const { project, account, undoSeconds, leaseSeconds, isNew } = JSON.parse(root.dataset.vote);
let { state } = JSON.parse(root.dataset.vote); // the project's state
const JSON_OF_MINE = { "Content-Type": "application/json", "X-Account": account }; // refused if another account is signed in
const api = `/api/v1/projects/${project}`;
const part = (name) => root.querySelector(`[data-part=${name}]`);
const stage = part("stage"), choices = part("choices"), say = part("say"), last = part("last"), filter = part("filter");
const buttons = [...choices.querySelectorAll("button")];
const zoom = new Zoom(part("zoom"));
const NOTHING = {
  active: "Nothing left to vote on. Thank you.",
  paused: "Paused by the project's owner. This page continues automatically.",
  archived: "This project is over. Thank you.",
};
const NOT_YET = "There is nothing to vote on yet.";
const RETRIES = [1000, 3000]; // ms before a broken image is loaded again; after the last it is reported
const TOLD = 6000; // ms for which a message about an item that is gone stays
const MOST_SPOKEN = 120; // characters of an item that screen readers announce
const HELD = 2, SETTLE = 120, POLL = 4000, LONGEST_POLL = 30000;
const LEASE = 1000 * leaseSeconds, UNATTENDED = Math.max(30 * 60000, 2 * LEASE); // ms without activity

const held = []; // items of this voter, rendered: [0] is shown, the rest wait
const acted = new Set(); // items acted on here: the server may still list them while the act is being sent
let isGone = false; // no longer a voter of this project
let past = null; // the last act, while it can be undone
let isStale = true; // the number of today's votes must be read again
let shownAt = 0, counts = { session: 0, today: 0 }, poll = POLL, isAsking = false;
let keptAt = 0, askedAt = 0, keeping; // when the server last listed this voter's items; when asked; the timer to ask again
let signAt = Date.now(); // the last activity

const outbox = new Outbox(`quorate-act:${project}:${account}:`, post, notify);

function post(act, signal) {
  const { key, path, item, label, abstain, skip } = act;
  const body = JSON.stringify({ item, label, abstain, skip, next: HELD });
  const headers = { ...JSON_OF_MINE, "Idempotency-Key": key };
  return fetch(`${api}/${path}`, { method: "POST", headers, body, signal });
}

function notify(name, act, body) {
  if (name === "waiting") isStale = true; // what is sent later counts for its own day
  if ((name === "sent" || name === "refused") && isStale && !outbox.size) countToday();
  if (name === "sent" && body.next) take(body.next);
  if (name === "refused") refused(act, body);
  if (name === "sent" && !held.length) refill();
  connection(name);
}

function refused(act, body) {
  if (act.label) { counts.session = Math.max(0, counts.session - 1); counts.today = Math.max(0, counts.today - 1); progress(); }
  if (isRemoved(body)) return leave(act.path === "votes" ? 1 : 0);
  const words = act.path === "undo" ? "It is too late to undo that."
    : body.status === 409 ? "You answered this one before, perhaps in another tab. The first answer counts."
    : body.status === 404 ? "This one is no longer yours to answer. Your answer was not counted."
    : "Your answer was not accepted.";
  announce(words, true);
  if (act.path === "undo") forget(act.item);
}

// Whether a response says that this voter may no longer vote here.
function isRemoved({ status, field }) {
  return (status === 404 && field === "project_id") || (status === 403 && field === "role");
}

let notTaken = 0;
function leave(votes) {
  notTaken += votes;
  isGone = true;
  held.length = 0;
  past = null;
  offerUndo();
  const lost = notTaken === 1 ? "Your last vote was not counted. " : notTaken ? `Your last ${notTaken} votes were not counted. ` : "";
  part("not-taken").textContent = `${lost}Votes you gave before still count. If this is a mistake, ask the project's owner.`;
  connection("");
  show();
  last.textContent = "";
}

// The item cannot be voted on any more: show the next.
function forget(item) {
  acted.add(item);
  const place = held.findIndex((each) => each.item === item);
  if (place >= 0) held.splice(place, 1);
  if (place === 0) { const words = last.textContent; show(); last.textContent = words; }
}

function connection(name) {
  const trouble = name === "waiting" || name === "signed-out";
  const waiting = outbox.size === 1 ? "1 vote" : `${outbox.size} votes`;
  const words = name === "signed-out" ? `You are signed out. ${waiting} not sent yet; kept here until you sign in again.`
    : name === "waiting" ? `${waiting} not sent yet, trying again. Nothing is lost; leave this page open.`
    : name === "offline" ? "No connection, trying again." : "";
  const line = part("sending");
  line.classList.toggle("trouble", trouble || name === "offline");
  if (line.textContent !== words) line.textContent = words;
}

// -- items in

async function refill() {
  if (isAsking || isGone) return;
  isAsking = true;
  askedAt = Date.now();
  const isLapsed = keptAt > 0 && askedAt - keptAt > LEASE;
  try {
    const answer = await fetch(`${api}/next`, { method: "POST", headers: JSON_OF_MINE, body: JSON.stringify({ count: HELD }) });
    const body = await answer.json();
    if (isSignedOut(answer.status, body)) return connection("signed-out");
    if (isRemoved(body)) return leave(0);
    if (!answer.ok) throw new Error(answer.status);
    if (!outbox.size) connection("");
    if (isLapsed && !outbox.size) drop(body.items);
    take(body.items);
  } catch {
    if (!outbox.size) connection("offline");
  } finally {
    isAsking = false;
    if (isGone) clearTimeout(keeping);
    else if (!held.length) { askState(); setTimeout(refill, poll); poll = Math.min(1.5 * poll, LONGEST_POLL); }
    else if (Date.now() - keptAt > LEASE / 2) keepSoon(Math.min(POLL, LEASE / 4)); // the server was not reached
  }
}

// Items are reserved for a limited time; renew while the page is visible and the voter is active.
function keep() {
  if (!held.length || document.hidden || Date.now() - signAt > UNATTENDED) return;
  refill();
}
function keepSoon(after) {
  clearTimeout(keeping);
  keeping = setTimeout(keep, after);
}

// The voter was away for too long: stop showing items that others have got in the meantime.
function drop(items) {
  const before = held[0];
  const mine = held.filter((each) => items.some((given) => given.item === each.item));
  held.splice(0, HELD, ...mine);
  if (held[0] !== before && held.length) show();
}

function take(items) {
  keptAt = Date.now();
  keepSoon(LEASE / 2);
  const before = held[0];
  for (const given of items) {
    const isKnown = held.some((each) => each.item === given.item);
    if (isKnown || acted.has(given.item) || held.length >= HELD) continue;
    const here = { ...given, isSeen: !given.show.image };
    held.push(Object.assign(here, { drawn: draw(here) }));
  }
  if (held[0] !== before) show();
  else if (!held.length) show();
}

function draw(here) {
  const { item, show } = here;
  const shown = document.createElement("div");
  shown.className = "shown";
  if (show.image) {
    const image = new Image();
    image.alt = show.text ? "" : "The image to vote on";
    const enlarge = Object.assign(document.createElement("button"), { type: "button", className: "enlarge", title: "Enlarge" });
    image.referrerPolicy = "no-referrer";
    load(here, image, enlarge);
    enlarge.append(image, Object.assign(document.createElement("span"), { className: "sr", textContent: "Enlarge the image" }));
    enlarge.addEventListener("click", () => zoom.open(image));
    shown.append(enlarge);
  }
  const size = show.text?.length > 240 ? "long" : "";
  if (show.text) shown.append(Object.assign(document.createElement("p"), { textContent: show.text, className: size }));
  if (show.link) {
    const link = { href: show.link, textContent: "Open the link", target: "_blank", rel: "noopener noreferrer" };
    shown.append(Object.assign(document.createElement("a"), { ...link, className: "button" }));
  }
  const isBare = !show.image && !show.text && !show.link; // an id may reveal the answer: shown only if there is nothing else
  if (isBare) shown.append(Object.assign(document.createElement("p"), { textContent: item }));
  return shown;
}

// The answer buttons become active when the image is loaded; a broken image is reported, and the next item is shown.
async function load(here, image, enlarge, tries = 0) {
  enlarge.disabled = true;
  image.src = here.show.image;
  try {
    await image.decode();
    image.classList.toggle("small", image.naturalWidth < 400);
    enlarge.disabled = false;
    here.isSeen = true;
    if (held[0] === here) { shownAt = performance.now(); enable(); if (tries) announce("", true); }
  } catch {
    if (held[0] === here) announce("The image could not be loaded. Trying again.", true);
    if (tries < RETRIES.length) return void setTimeout(() => load(here, image, enlarge, tries + 1), RETRIES[tries]);
    if (held.includes(here) && !(await report(here))) setTimeout(() => load(here, image, enlarge, tries), POLL);
  }
}

// True if the item is no longer shown: the server knows that its image is broken, or refused the report. False without
// a connection or a sign-in: the report is tried again.
async function report(here) {
  try {
    const answer = await fetch(`${api}/report-image`, { method: "POST", headers: JSON_OF_MINE, body: JSON.stringify({ item: here.item }) });
    const body = await answer.json();
    if (isRemoved(body)) { leave(0); return true; }
    if (answer.status >= 500 || [401, 403, 408].includes(answer.status)) return false;
    const isOurs = ![404, 409].includes(answer.status); // otherwise there is nothing left to skip
    if (isOurs && !body.set_aside) outbox.add({ path: "votes", item: here.item, skip: true });
    const isShown = held[0] === here;
    forget(here.item);
    if (body.set_aside) acted.delete(here.item); // it may come back when it is repaired
    const words = answer.ok ? "could not be loaded. The owner was notified." : "could not be loaded.";
    if (isShown) announce(`The image ${words} ${say.textContent}`);
    if (isShown) {
      last.textContent = `An image ${words}`;
      setTimeout(() => { if (last.textContent === `An image ${words}`) last.textContent = ""; }, TOLD); // it is about another item
    }
    if (held.length < HELD) refill();
    return true;
  } catch { return false; }
}

// How many votes of today the server has; of acts that were not sent when this page was opened, too.
async function countToday() {
  const midnight = new Date().setHours(0, 0, 0, 0) / 1000;
  try {
    const before = counts.session;
    const mine = await (await fetch(`/p/${project}/vote/mine?since=${midnight}`)).json();
    if (outbox.size) return; // asked again when everything is sent
    if (counts.session !== before) return countToday();
    isStale = false;
    counts.today = mine.votes;
    progress();
  } catch { /* asked again */ }
}

// Enable buttons: none without an item, and no answers before its image is loaded.
function enable() {
  const here = held[0];
  for (const each of [...buttons, part("abstain"), filter]) if (each) each.disabled = !here?.isSeen;
  part("skip").disabled = !here;
  stage.setAttribute("aria-busy", String(Boolean(here) && !here.isSeen));
}

function show() {
  const here = held[0];
  zoom.close();
  part("waiting").hidden = Boolean(here) || isGone || outbox.size === 0;
  part("loading").hidden = true;
  stage.querySelector(".shown")?.remove();
  enable();
  shownAt = performance.now();
  nothing();
  delete root.dataset.item;
  if (!here) return announce(isGone ? part("removed").innerText : outbox.size ? "Waiting for the connection." : whyNothing());
  poll = POLL;
  stage.append(here.drawn);
  if (here.show.image) part("hint")?.removeAttribute("hidden");
  stage.scrollTop = 0;
  root.dataset.item = here.item;
  if (filter) { filter.value = ""; narrow(); }
  if (document.activeElement !== document.body) stage.focus({ preventScroll: true }); // do not leave it on a button
  announce(`Next item: ${short(here.show.text ?? (here.show.image ? "an image" : here.show.link ? "a link to open" : here.item))}`);
}

// The beginning of a long text, for screen readers.
function short(text) {
  if (text.length <= MOST_SPOKEN) return text;
  const cut = text.slice(0, MOST_SPOKEN);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), MOST_SPOKEN / 2))} …`;
}

const whyNothing = () => (state === "active" && isNew && !acted.size ? NOT_YET : NOTHING[state]);

// Show why there is nothing to vote on: everything is voted on, or the project is not active.
function nothing() {
  const isEmpty = !held.length && !isGone && outbox.size === 0;
  const isFirst = isNew && !acted.size;
  part("removed").hidden = !isGone;
  part("nothing").hidden = !isEmpty || state !== "active" || !isFirst;
  part("thanks").hidden = !isEmpty || state !== "active" || isFirst;
  part("paused").hidden = !isEmpty || state !== "paused";
  part("archived").hidden = !isEmpty || state !== "archived";
}

async function askState() {
  try {
    const mine = await (await fetch(`/p/${project}/vote/mine?since=${Date.now() / 1000}`)).json();
    if (!(mine.state in NOTHING) || mine.state === state) return;
    state = mine.state;
    nothing();
    if (!held.length && !outbox.size) announce(whyNothing());
  } catch { /* tried again soon */ }
}

function announce(words, isLoud = false) {
  say.textContent = words;
  if (isLoud) last.textContent = words;
}

// -- acts out

function act(path, details, words) {
  const here = held[0];
  if (!here || performance.now() - shownAt < SETTLE) return; // a bouncing key must not vote on the next item
  if (!here.isSeen && !details.skip) return announce("The image is still loading.", true);
  held.shift();
  acted.add(here.item);
  const name = outbox.add({ path, item: here.item, ...details });
  past = { here, name, at: performance.now(), isVote: Boolean(details.label) };
  if (details.label) { counts.session += 1; counts.today += 1; progress(); }
  last.textContent = words;
  show();
  announce(`${words}. ${say.textContent}`);
  offerUndo();
}

const vote = (button) => act("votes", { label: button.dataset.label }, `You said ${button.dataset.name}`);
const skip = () => act("votes", { skip: true }, "Skipped");
const abstain = () => act("votes", { abstain: true }, "You said you cannot tell");

function undo() {
  if (!past || performance.now() - past.at > 1000 * undoSeconds) return announce("It is too late to undo.", true);
  const { here, name, isVote } = past;
  past = null;
  if (!outbox.recall(name)) outbox.add({ path: "undo", item: here.item });
  acted.delete(here.item);
  held.unshift(here);
  if (isVote) { counts.session -= 1; counts.today -= 1; progress(); }
  show();
  last.textContent = "Undone: vote again";
  announce(`Undone. ${say.textContent}`);
  offerUndo();
}

let undoEnds;
function offerUndo() {
  const button = part("undo");
  button.disabled = !past;
  clearTimeout(undoEnds);
  if (past) undoEnds = setTimeout(() => { past = null; button.disabled = true; }, 1000 * undoSeconds);
}

function progress() {
  part("session").textContent = counts.session;
  part("today").textContent = counts.today;
}

// -- hands

choices.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) vote(button);
});
part("undo").addEventListener("click", undo);
part("skip").addEventListener("click", skip);
part("abstain").addEventListener("click", abstain);

let keysOn = remembered("quorate-keys") !== "off";
const keysSwitch = part("keys");
keysSwitch.checked = keysOn;
keysSwitch.addEventListener("change", () => {
  keysOn = keysSwitch.checked;
  remember("quorate-keys", keysOn ? "on" : "off");
  document.body.classList.toggle("keys-off", !keysOn);
});
document.body.classList.toggle("keys-off", !keysOn);

document.addEventListener("keydown", (event) => {
  if (!keysOn || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === filter) return filterKey(event);
  const chosen = buttons.find((button) => !button.hidden && button.dataset.key === event.key.toLowerCase());
  if (chosen) vote(chosen);
  else if (event.key === "u" || event.key === "U" || event.key === "Backspace") undo();
  else if (event.key === "s" || event.key === "S") skip();
  else if (event.key === "x" || event.key === "X" || event.key === "?") abstain();
  else if (event.key === "z" || event.key === "Z") enlarge();
  else if (event.key === "/" && filter) filter.focus();
  else if (event.key === "PageDown" || event.key === "PageUp") scroll(event.key === "PageDown" ? 1 : -1);
  else return;
  event.preventDefault();
});

// A long text is scrolled wherever the focus is.
function scroll(pages) {
  stage.scrollBy({ top: 0.9 * pages * stage.clientHeight });
}

function enlarge() {
  const image = stage.querySelector(".enlarge:enabled img");
  if (part("zoom").open) zoom.close();
  else if (image) zoom.open(image);
}

// While typing in the search box, digits are text: hide the keys of the answers.
for (const name of ["focus", "blur"]) filter?.addEventListener(name, () => choices.classList.toggle("typing", name === "focus"));

function filterKey(event) {
  const visible = buttons.filter((button) => !button.hidden);
  if (event.key === "Enter" && visible.length) vote(visible[0]);
  else if (event.key === "Escape") { filter.value = ""; narrow(); stage.focus(); }
  else return;
  event.preventDefault();
}

function narrow() {
  const wanted = filter.value.trim().toLowerCase();
  let shown = 0;
  for (const button of buttons) {
    button.hidden = !button.dataset.name.toLowerCase().includes(wanted);
    button.dataset.key = button.hidden ? "" : "1234567890"[shown++] ?? "";
    const key = button.querySelector("kbd");
    if (!key) continue;
    key.hidden = !button.dataset.key;
    key.textContent = button.dataset.key;
  }
  const words = shown ? "" : "No answer matches. Escape clears the search.";
  if (part("none-found").textContent !== words) part("none-found").textContent = words;
}
filter?.addEventListener("input", narrow);

function remembered(name) { try { return localStorage.getItem(name); } catch { return null; } }
function remember(name, value) { try { localStorage.setItem(name, value); } catch { /* not stored */ } }

const help = part("instructions");
if (help) {
  const seen = `quorate-seen:${project}`;
  help.open = remembered(seen) !== help.dataset.version;
  help.addEventListener("toggle", () => { if (!help.open) remember(seen, help.dataset.version); });
}

// Another tab of this browser has answered: stop showing the same item here.
addEventListener("storage", ({ key, newValue }) => {
  if (!newValue || !key?.startsWith(outbox.prefix)) return;
  const { path, item } = JSON.parse(newValue);
  if (path === "votes" && !acted.has(item)) { forget(item); if (!held.length) refill(); }
});

// -- begin

for (const act of outbox.kept.values()) if (act.path === "votes") acted.add(act.item); else acted.delete(act.item);
counts.today = [...outbox.kept.values()].filter((act) => act.label).length;
progress();
if (!outbox.size) countToday();
outbox.flush();
refill();

function isThere() {
  signAt = Date.now();
  if (signAt - Math.max(keptAt, askedAt) > LEASE / 2) keep();
}
for (const sign of ["pointerdown", "pointermove", "keydown", "wheel"]) addEventListener(sign, isThere, { passive: true });
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  isThere();
  if (held.length < HELD) refill();
});

// The page is closed: give the items to others at once. A vote that is still to be sent counts all the same.
addEventListener("pagehide", () => {
  if (held.length) fetch(`${api}/leave`, { method: "POST", headers: JSON_OF_MINE, keepalive: true }).catch(() => {});
});
addEventListener("pageshow", (event) => { if (event.persisted) { keptAt = 0; refill(); } });
