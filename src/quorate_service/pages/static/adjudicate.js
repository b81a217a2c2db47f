// The page for verdicts: keys, the image enlarged, and no verdict before the image is there.

import { Zoom } from "./zoom.js";

const root = document.querySelector("[data-adjudicate]");
if (root) {
  const record = root.querySelector("[data-record]"), image = root.querySelector(".shown img");
  const zoom = new Zoom(root.querySelector("[data-part=zoom]"));
  if (image) wait();

  async function wait() {
    try {
      await image.decode();
    } catch {
      return void (root.querySelector("[data-broken]").hidden = false);
    }
    record.disabled = false;
    const enlarge = Object.assign(document.createElement("button"), { type: "button", className: "enlarge", title: "Enlarge" });
    image.replaceWith(enlarge);
    enlarge.append(image, Object.assign(document.createElement("span"), { className: "sr", textContent: "Enlarge the image" }));
    enlarge.addEventListener("click", () => zoom.open(image));
  }

  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("textarea, input:not([type=radio])")) return;
    const key = event.key.toLowerCase();
    const chosen = key && root.querySelector(`input[data-key="${CSS.escape(key)}"]`);
    if (key === "z" && image) root.querySelector("dialog").open ? zoom.close() : root.querySelector(".enlarge")?.click();
    else if (root.querySelector("dialog").open) return;
    else if (chosen) { chosen.checked = true; chosen.focus(); }
    else if (key === "s") root.querySelector("[data-later]")?.click();
    else return;
    event.preventDefault();
  });
}
