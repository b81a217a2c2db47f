// Imports dropped or chosen files: uploads images, previews the table, stores it; each step shows its progress.

import { upload } from "./upload.js";

const form = document.querySelector("[data-import]");
if (form) {
  const drop = form.querySelector("[data-drop]"), input = form.querySelector("input[type=file]");
  const place = document.querySelector("[data-looked-at]");
  let looked = null; // { table, images } for the next "store"

  for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); look([...event.dataTransfer.files]); });
  input.addEventListener("change", () => look([...input.files]));
  form.addEventListener("submit", (event) => { event.preventDefault(); look([...input.files]); });
  place.addEventListener("click", (event) => { if (event.target.closest("[data-store]")) send("store", event.target); });

  async function look(files) {
    if (!files.length) return;
    const pictures = files.filter((file) => file.type.startsWith("image/"));
    const tables = files.filter((file) => !file.type.startsWith("image/"));
    if (tables.length > 1) return say("Drop one table at a time.", true);
    const images = {};
    for (const [index, picture] of pictures.entries()) {
      say(`Image ${index + 1} of ${pictures.length} …`);
      try {
        images[picture.name] = await upload(form.dataset.import, picture);
      } catch (problem) {
        return say(`${picture.name}: ${problem.message}`, true);
      }
    }
    const rows = pictures.map(({ name }) => ({ id: name.replace(/\.[^.]+$/, ""), image: name }));
    const made = () => new File([JSON.stringify(rows)], "images.json", { type: "application/json" });
    looked = { table: tables[0] ?? made(), images };
    say("Reading …");
    await send("look");
  }

  async function send(action, button) {
    if (button) button.disabled = true;
    const body = new FormData();
    for (const [name, value] of Object.entries({ action, part: "yes", images: JSON.stringify(looked.images) })) body.set(name, value);
    body.set("file", looked.table);
    try {
      const answer = await fetch(form.getAttribute("action"), { method: "POST", body, headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(answer.status);
      place.innerHTML = await answer.text();
    } catch {
      say("The connection was lost. Try again: items that are stored already stay unchanged.", true);
    }
  }

  function say(words, isBad = false) {
    const line = document.createElement("p");
    line.className = isBad ? "message bad" : "quiet";
    line.textContent = words;
    place.replaceChildren(line);
  }
}
