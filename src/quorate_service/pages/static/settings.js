// Pictures dropped on or pasted into the instructions are uploaded, and named there in Markdown.

import { upload } from "./upload.js";

const field = document.getElementById("instructions"), { project } = field.form.dataset;
field.addEventListener("dragover", (event) => event.preventDefault());
for (const [name, source] of [["drop", "dataTransfer"], ["paste", "clipboardData"]]) {
  field.addEventListener(name, async (event) => {
    const pictures = [...event[source].files].filter((file) => file.type.startsWith("image/"));
    if (pictures.length) event.preventDefault();
    for (const picture of pictures) {
      const words = await upload(project, picture).then((image) => `![](${image})`, (problem) => `(${picture.name}: ${problem.message})`);
      field.setRangeText(words, field.selectionStart, field.selectionEnd, "end");
    }
  });
}
