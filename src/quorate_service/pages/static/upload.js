// Uploads an image to a project; returns what items and instructions call it.

export async function upload(project, file) {
  const answer = await fetch(`/api/v1/projects/${project}/uploads`, { method: "POST", headers: { "Content-Type": file.type }, body: file })
    .catch(() => { throw new Error("the connection was lost; drop it again."); });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail ?? "it was not accepted.");
  return body.image;
}
